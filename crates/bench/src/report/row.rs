//! One measure: Tenure beside others, round by round, and whether the goal is met.

use super::number::{Unit, digits, median};

/// One measure. The first side is Tenure's.
#[derive(Clone, Debug)]
pub struct Row {
    /// `measure/store`
    pub id: String,
    /// What was measured.
    pub title: String,
    /// In which unit.
    pub unit: Unit,
    /// Who was measured.
    pub sides: Vec<Side>,
    /// What Tenure has to reach.
    pub goal: Option<Goal>,
}

/// One of those who were measured, in turns.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// A number from every round.
    pub rounds: Vec<f64>,
}

/// What Tenure has to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At least this share of the speed of the side with this number.
    Share(usize, f64),
    /// At most so many times what the side with this number needs.
    Times(usize, f64),
    /// At most this.
    Most(f64),
}

impl Side {
    /// A side that was not measured yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rounds: Vec::new(),
        }
    }

    /// The middle of its rounds.
    pub fn median(&self) -> f64 {
        median(&self.rounds).unwrap_or(f64::NAN)
    }

    /// The lowest and the highest of its rounds.
    pub fn spread(&self) -> (f64, f64) {
        let least = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self
            .rounds
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        (least, most)
    }

    /// `222 µs (210–240)`
    pub fn show(&self, unit: Unit) -> String {
        let (least, most) = self.spread();
        match self.rounds.len() {
            0 => "–".to_owned(),
            1 => unit.show(self.median()),
            _ => format!(
                "{} ({}–{})",
                unit.show(self.median()),
                digits(least),
                digits(most)
            ),
        }
    }
}

impl Row {
    /// A row without sides.
    pub fn new(id: String, title: String, unit: Unit) -> Self {
        Self {
            id,
            title,
            unit,
            sides: Vec::new(),
            goal: None,
        }
    }

    /// Tenure beside this side: its number over the other's, the median of the rounds. Both were
    /// measured one after the other in each round, so what else the machine did is in both.
    pub fn over(&self, side: usize) -> Option<f64> {
        let (ours, theirs) = (self.sides.first()?, self.sides.get(side)?);
        let pairs = ours.rounds.iter().zip(&theirs.rounds);
        median(
            &pairs
                .map(|(ours, theirs)| ours / theirs)
                .collect::<Vec<_>>(),
        )
    }

    /// The number that the goal speaks of.
    pub fn reached(&self) -> Option<f64> {
        match self.goal? {
            Goal::Share(side, _) if self.unit.is_cost() => Some(1.0 / self.over(side)?),
            Goal::Share(side, _) | Goal::Times(side, _) => self.over(side),
            Goal::Most(_) => Some(self.sides.first()?.median()),
        }
    }

    /// Whether the goal is met; `None` where there is none.
    pub fn is_met(&self) -> Option<bool> {
        let reached = self.reached()?;
        Some(match self.goal? {
            Goal::Share(_, least) => reached >= least,
            Goal::Times(_, most) | Goal::Most(most) => reached <= most,
        })
    }

    /// The judgement in words.
    pub fn verdict(&self) -> String {
        let (Some(goal), Some(reached), Some(is_met)) = (self.goal, self.reached(), self.is_met())
        else {
            return "–".to_owned();
        };
        let of = |side: usize| self.sides.get(side).map_or("", |side| side.name.as_str());
        let met = if is_met { "met" } else { "**not met**" };
        let reached = digits(reached);
        match goal {
            Goal::Share(side, least) if least > 1.0 => {
                format!("{reached} × {}, ≥ {}: {met}", of(side), digits(least))
            }
            Goal::Share(side, least) => {
                format!("{reached} of the rate of {}, ≥ {least}: {met}", of(side))
            }
            Goal::Times(side, most) => format!("{reached} × {}, ≤ {most}: {met}", of(side)),
            Goal::Most(most) => format!("≤ {}: {met}", self.unit.show(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: Unit, ours: &[f64], theirs: &[f64], goal: Goal) -> Row {
        let side = |rounds: &[f64]| Side {
            name: "x".to_owned(),
            rounds: rounds.to_vec(),
        };
        Row {
            sides: vec![side(ours), side(theirs)],
            goal: Some(goal),
            ..Row::new("id".to_owned(), "title".to_owned(), unit)
        }
    }

    #[test]
    fn rounds_are_compared_with_their_own_neighbours() {
        let row = row(
            Unit::Micros,
            &[100.0, 400.0, 200.0],
            &[50.0, 200.0, 100.0],
            Goal::Share(1, 0.5),
        );
        assert_eq!(row.reached(), Some(0.5));
        assert_eq!(row.is_met(), Some(true));
    }

    #[test]
    fn a_rate_is_better_when_it_is_larger() {
        let ours = row(Unit::PerSecond, &[10.0], &[30.0], Goal::Share(1, 0.5));
        assert_eq!(ours.is_met(), Some(false));
        let ours = row(Unit::PerSecond, &[600.0], &[10.0], Goal::Share(1, 60.0));
        assert_eq!(ours.is_met(), Some(true));
    }

    #[test]
    fn a_limit_is_a_limit() {
        let ours = row(Unit::Millis, &[9.0, 11.0, 10.0], &[], Goal::Most(10.0));
        assert_eq!(ours.is_met(), Some(true));
        let ours = row(Unit::Millis, &[3.6], &[2.0], Goal::Times(1, 1.7));
        assert_eq!(ours.is_met(), Some(false));
        assert!(ours.verdict().contains("not met"));
    }
}
