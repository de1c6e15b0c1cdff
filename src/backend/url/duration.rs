//! Durations as people write them in a URL.

use std::time::Duration;

use super::brief::brief;
use crate::error::{Error, Result};

/// Parses `10s`, `500ms`, `2m` or `1h`: a whole number and a unit.
///
/// ```
/// use std::time::Duration;
/// use tenure::backend::url::parse_duration;
///
/// assert_eq!(parse_duration("500ms")?, Duration::from_millis(500));
/// assert!(parse_duration("10").is_err(), "a unit is needed");
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for anything else.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let bad = || {
        Error::invalid(format!(
            "a duration is a whole number with ms, s, m or h, as in 500ms or 10s, not {:?}",
            brief(text)
        ))
    };
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(bad)
}
