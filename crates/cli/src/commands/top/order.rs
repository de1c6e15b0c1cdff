//! [`Order`]: which rows are shown, and in which order.

use std::cmp::Ordering;

use tenure_dashboard::status::Row;

use super::history::History;
use crate::commands::columns::Column;

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortBy {
    #[default]
    Name,
    Owner,
    Held,
    Left,
    Waiters,
    Changes,
}

use SortBy::{Changes, Held, Left, Name, Owner, Waiters};

const ALL: [SortBy; 6] = [Name, Owner, Held, Left, Waiters, Changes];

impl SortBy {
    /// The one `steps` further, in a circle.
    fn further(self, steps: usize) -> Self {
        let at = ALL.iter().position(|by| *by == self).unwrap_or(0);
        ALL[(at + steps) % ALL.len()]
    }

    /// Whether the largest comes first, unless it is turned around: what is
    /// worth a look is on top.
    fn is_largest_first(self) -> bool {
        matches!(self, Held | Waiters | Changes)
    }

    /// Whether `column` shows it.
    pub(super) fn is_in(self, column: Column) -> bool {
        match column {
            Column::Name => self == Name,
            Column::Owner => self == Owner,
            Column::Held => self == Held,
            Column::Left | Column::Bar => self == Left,
            Column::Waiters | Column::WaiterCount => self == Waiters,
            Column::Changes => self == Changes,
            Column::Kind | Column::Token | Column::ShortToken => false,
        }
    }
}

/// Which rows are shown, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) by: SortBy,
    is_turned: bool,
    /// Only rows with this in what they show.
    pub(super) filter: String,
}

impl Order {
    pub(super) fn next(&mut self) {
        (self.by, self.is_turned) = (self.by.further(1), false);
    }

    pub(super) fn previous(&mut self) {
        (self.by, self.is_turned) = (self.by.further(ALL.len() - 1), false);
    }

    pub(super) fn turn(&mut self) {
        self.is_turned = !self.is_turned;
    }

    /// Whether the largest is on top.
    pub(super) fn is_descending(&self) -> bool {
        self.by.is_largest_first() != self.is_turned
    }

    /// The places of the rows that are shown. Where a row has nothing to be
    /// sorted by it comes last, either way.
    pub(super) fn of(&self, rows: &[Row], history: &History) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let mut shown: Vec<usize> = (0..rows.len())
            .filter(|at| wanted.is_empty() || has(&rows[*at], &wanted))
            .collect();
        // Once for each: there may be tens of thousands.
        let numbers: Vec<Option<u64>> = rows.iter().map(|row| self.number(row, history)).collect();
        shown.sort_by(|left, right| {
            let (one, other) = (&rows[*left], &rows[*right]);
            let compared = match self.by {
                Name => self.turned(one.name.cmp(&other.name)),
                Owner => self.known_first(one.owner.as_deref(), other.owner.as_deref()),
                _ => self.known_first(numbers[*left], numbers[*right]),
            };
            compared.then_with(|| one.name.cmp(&other.name))
        });
        shown
    }

    fn number(&self, row: &Row, history: &History) -> Option<u64> {
        match self.by {
            Name | Owner => None,
            Held => row.held_ms,
            Left => row.left_ms,
            Waiters => Some(row.waiters.len() as u64).filter(|count| *count > 0),
            Changes => Some(history.total(&row.name)).filter(|count| *count > 0),
        }
    }

    fn known_first<T: Ord>(&self, one: Option<T>, other: Option<T>) -> Ordering {
        match (one, other) {
            (Some(one), Some(other)) => self.turned(one.cmp(&other)),
            (one, other) => other.is_some().cmp(&one.is_some()),
        }
    }

    fn turned(&self, ordering: Ordering) -> Ordering {
        match self.is_descending() {
            true => ordering.reverse(),
            false => ordering,
        }
    }
}

/// Whether what is shown of `row` has `wanted`, in small letters, in it.
fn has(row: &Row, wanted: &str) -> bool {
    let is_in = |text: &str| text.to_lowercase().contains(wanted);
    is_in(&row.name)
        || is_in(row.owner.as_deref().unwrap_or("free"))
        || row.kind.is_some_and(is_in)
        || row.fault.is_some() && is_in("damaged")
        || row.waiters.iter().any(|waiter| is_in(waiter))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tenure::model::MutexName;

    use super::*;

    fn row(name: &str, held: Option<u64>, waiters: &[&str]) -> Row {
        let mut row = Row::free(&MutexName::new(name).unwrap());
        row.owner = held.map(|_| format!("owner-of-{name}"));
        (row.held_ms, row.left_ms) = (held, held.map(|held| 10_000 - held));
        row.waiters = waiters.iter().map(|it| (*it).to_owned()).collect();
        row
    }

    fn names(order: &Order, rows: &[Row]) -> String {
        let shown = order.of(rows, &History::begin(Instant::now()));
        let names: Vec<&str> = shown.iter().map(|at| rows[*at].name.as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn every_column_sorts_both_ways_and_what_is_unknown_is_last() {
        let rows = [
            row("b", Some(2_000), &["x"]),
            row("a", None, &[]),
            row("d", Some(9_000), &[]),
            row("c", Some(5_000), &["x", "y"]),
        ];
        let mut order = Order::default();
        let mut found = Vec::new();
        for _ in ALL {
            found.push(names(&order, &rows));
            order.turn();
            found.push(names(&order, &rows));
            order.next();
        }
        assert_eq!(
            found,
            [
                "a b c d", "d c b a", // name
                "b c d a", "d c b a", // owner
                "d c b a", "b c d a", // held
                "d c b a", "b c d a", // left
                "c b a d", "b c a d", // waiters
                "a b c d", "a b c d", // changes: none
            ]
        );
        assert_eq!(order.by, Name, "in a circle");
        order.previous();
        assert_eq!(order.by, Changes);
    }

    #[test]
    fn the_filter_looks_at_all_that_is_shown() {
        let mut rows = [
            row("Billing", Some(1), &[]),
            row("mail", None, &[]),
            row("web", Some(1), &["Frankfurt-7"]),
        ];
        rows[2].kind = Some("schedule");
        let mut order = Order::default();
        for (filter, found) in [
            ("bill", "Billing"),
            ("BILL", "Billing"),
            ("free", "mail"),
            ("frank", "web"),
            ("sched", "web"),
            ("owner-of", "Billing web"),
            ("nothing", ""),
            ("", "Billing mail web"),
        ] {
            order.filter = filter.to_owned();
            assert_eq!(names(&order, &rows), found, "{filter}");
        }
    }
}
