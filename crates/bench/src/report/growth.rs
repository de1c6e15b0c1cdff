//! How a cost grows with the number of something.

use super::number::{Unit, median};

/// A cost at several sizes.
#[derive(Clone, Debug)]
pub struct Growth {
    /// `measure/store/side`
    pub id: String,
    /// What was measured.
    pub title: String,
    /// Whose cost it is.
    pub side: String,
    /// Of what there is more and more.
    pub of: &'static str,
    /// The unit of the cost.
    pub unit: Unit,
    /// From the smallest to the largest.
    pub points: Vec<Point>,
}

/// The cost at one size.
#[derive(Clone, Debug)]
pub struct Point {
    /// How many.
    pub size: usize,
    /// A number from every round.
    pub rounds: Vec<f64>,
}

impl Point {
    /// The middle of its rounds.
    pub fn median(&self) -> f64 {
        median(&self.rounds).unwrap_or(f64::NAN)
    }
}

impl Growth {
    /// A growth whose points have no rounds yet.
    pub fn new(
        id: String,
        title: String,
        side: &str,
        of: &'static str,
        unit: Unit,
        sizes: &[usize],
    ) -> Self {
        let point = |size: &usize| Point {
            size: *size,
            rounds: Vec::new(),
        };
        Self {
            id,
            title,
            side: side.to_owned(),
            of,
            unit,
            points: sizes.iter().map(point).collect(),
        }
    }

    /// The cost at this size, or at the nearest below it.
    pub fn at(&self, size: usize) -> Option<f64> {
        let point = self.points.iter().rev().find(|point| point.size <= size)?;
        Some(point.median())
    }

    /// The exponent of the growth: 0 is flat, 1 is in proportion, 2 is its square. The line of
    /// least squares through the logarithms of the medians.
    pub fn slope(&self) -> Option<f64> {
        let logs = self.points.iter().filter(|point| point.median() > 0.0);
        let logs: Vec<(f64, f64)> = logs
            .map(|point| ((point.size as f64).ln(), point.median().ln()))
            .collect();
        let count = logs.len() as f64;
        let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
        let square: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let product: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        (logs.len() > 1 && square > 0.0).then_some(product / square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(points: &[(usize, f64)]) -> Option<f64> {
        let sizes: Vec<usize> = points.iter().map(|(size, _)| *size).collect();
        let mut growth = Growth::new(String::new(), String::new(), "", "", Unit::Micros, &sizes);
        for (point, (_, cost)) in growth.points.iter_mut().zip(points) {
            point.rounds.push(*cost);
        }
        growth.slope().map(|slope| (slope * 100.0).round() / 100.0)
    }

    #[test]
    fn the_slope_is_the_exponent() {
        assert_eq!(slope(&[(1, 5.0), (10, 5.0), (100, 5.0)]), Some(0.0));
        assert_eq!(slope(&[(1, 3.0), (10, 30.0), (1_000, 3_000.0)]), Some(1.0));
        assert_eq!(slope(&[(1, 2.0), (10, 200.0)]), Some(2.0));
        assert_eq!(slope(&[(1, 2.0)]), None);
    }
}
