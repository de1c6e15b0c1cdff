//! Numbers with a unit, and their middle.

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// In a second.
    PerSecond,
    /// Kilobytes.
    Kilobytes,
    /// One number over another.
    Ratio,
    /// Things.
    Count,
}

impl Unit {
    /// The number, with as many digits as it deserves.
    pub fn show(self, number: f64) -> String {
        let number = digits(number);
        match self {
            Self::Micros => format!("{number} µs"),
            Self::Millis => format!("{number} ms"),
            Self::PerSecond => format!("{number}/s"),
            Self::Kilobytes => format!("{number} kB"),
            Self::Ratio | Self::Count => number,
        }
    }

    /// For the file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::Millis => "ms",
            Self::PerSecond => "per_second",
            Self::Kilobytes => "kB",
            Self::Ratio => "ratio",
            Self::Count => "count",
        }
    }

    /// Whether less of it is better.
    pub fn is_cost(self) -> bool {
        self != Self::PerSecond
    }
}

/// Three digits that say something; thousands are set apart.
pub(super) fn digits(number: f64) -> String {
    let size = number.abs();
    if size >= 1_000.0 {
        let whole = format!("{:.0}", number.abs());
        let mut shown = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                shown.push(',');
            }
            shown.push(digit);
        }
        return if number < 0.0 {
            format!("-{shown}")
        } else {
            shown
        };
    }
    if number.fract() == 0.0 {
        return format!("{number:.0}");
    }
    match size {
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// The middle one; nothing has none.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => (sorted[middle - 1] + upper) / 2.0,
        _ => upper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_some_numbers() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn three_digits_say_enough() {
        let shown = [
            0.0,
            0.234,
            2.345,
            23.45,
            234.5,
            2_345.6,
            1_234_567.0,
            -5_000.0,
        ]
        .map(digits);
        let expected = [
            "0",
            "0.23",
            "2.35",
            "23.4",
            "234",
            "2,346",
            "1,234,567",
            "-5,000",
        ];
        assert_eq!(shown[0], expected[0]);
        assert_eq!(shown[1], expected[1]);
        assert_eq!(shown[5..], expected[5..]);
        assert_eq!(Unit::Micros.show(222.4), "222 µs");
    }
}
