//! [`ServerClock`]: whether the clocks of servers that stand in for each other agree.

use std::time::Duration;

use crate::backend::Finding;
#[cfg(any(feature = "mysql", feature = "redis"))]
use crate::clock::{Clock, Moment};

/// What a server's clock says, where more than one is asked.
#[derive(Debug)]
#[cfg(any(feature = "mysql", feature = "redis"))]
pub(in crate::stores) struct ServerClock {
    who: String,
    /// Microseconds before our own clock, which counts from another beginning.
    ahead: i64,
    /// How wrong that may be.
    unsure: i64,
}

#[cfg(any(feature = "mysql", feature = "redis"))]
impl ServerClock {
    /// What `who` said its time is, in microseconds, when it was `asked` for.
    pub(in crate::stores) fn heard(who: &str, asked: Moment, micros: i64) -> Self {
        let took = Clock::boot().now().since(asked);
        let half = i64::try_from(took.as_micros() / 2).unwrap_or(i64::MAX);
        let ours = i64::try_from(asked.as_nanos() / 1000).unwrap_or(i64::MAX);
        Self {
            who: who.to_owned(),
            ahead: micros - ours.saturating_add(half),
            unsure: half,
        }
    }

    /// The quickest answer of some says most.
    pub(in crate::stores) fn surest([first, others @ ..]: [Self; 3]) -> Self {
        let surer = |one: Self, other: Self| match other.unsure < one.unsure {
            true => other,
            false => one,
        };
        others.into_iter().fold(first, surer)
    }
}

/// What the readings say of the two clocks that differ most. `then` says what
/// is so at a clock that is ahead, as in "where a fail-over leads to it".
#[cfg(any(feature = "mysql", feature = "redis"))]
pub(in crate::stores) fn judge(
    readings: &[ServerClock],
    margin: Duration,
    then: &str,
) -> Option<Finding> {
    if readings.len() < 2 {
        return None;
    }
    // The two that differ most for sure: an answer that came late says little,
    // and must not hide what the others say.
    let first = readings.iter().max_by_key(|it| it.ahead - it.unsure)?;
    let last = readings.iter().min_by_key(|it| it.ahead + it.unsure)?;
    let micros = |number: i64| Duration::from_micros(u64::try_from(number).unwrap_or(0));
    let apart = micros(first.ahead - last.ahead);
    let unsure = micros(first.unsure + last.unsure);
    if apart <= margin + unsure {
        let latest = readings.iter().map(|it| it.ahead + it.unsure).max()?;
        let earliest = readings.iter().map(|it| it.ahead - it.unsure).min()?;
        let most = micros(latest - earliest);
        let within = format!("{} servers, {most:.1?} apart at most", readings.len());
        return Some(Finding::good("clocks", within));
    }
    let last = format!("of that of {}", last.who);
    Some(ahead(&first.who, apart, &last, margin, then))
}

/// That a clock is ahead by more than the margin.
pub(in crate::stores) fn ahead(
    who: &str,
    by: Duration,
    than: &str,
    margin: Duration,
    then: &str,
) -> Finding {
    Finding::warning(
        "clocks",
        format!(
            "the clock of {who} is {by:.1?} ahead {than}: {then} leases end early by as much, \
             and two may own (the margin is {margin:?})"
        ),
        "synchronise the clocks of all servers (chrony, NTP)",
    )
}

#[cfg(all(test, any(feature = "mysql", feature = "redis")))]
mod tests {
    use super::*;
    use crate::backend::Severity;

    #[test]
    fn only_a_difference_beyond_the_margin_is_told() {
        let reading = |who: &str, ahead, unsure| ServerClock {
            who: who.to_owned(),
            ahead,
            unsure,
        };
        let margin = Duration::from_millis(37);
        let judged = |all: &[ServerClock]| judge(all, margin, "").map(|finding| finding.severity);
        assert_eq!(judged(&[reading("a", 5, 0)]), None);
        let near = [reading("a", 0, 500), reading("b", 37_900, 500)];
        assert_eq!(judged(&near), Some(Severity::Good));
        let far = [reading("a", 0, 500), reading("b", 39_000, 500)];
        assert_eq!(judged(&far), Some(Severity::Warning));
        let late = reading("c", 50_000, 40_000);
        let hidden = [reading("a", 0, 500), reading("b", 45_000, 500), late];
        assert_eq!(judged(&hidden), Some(Severity::Warning));
    }

    #[test]
    fn what_is_not_sure_is_counted_in() {
        let reading = |ahead, unsure| ServerClock {
            who: String::new(),
            ahead,
            unsure,
        };
        let all = [reading(0, 1_000), reading(5_000, 2_000)];
        let judged = judge(&all, Duration::from_millis(37), "").unwrap();
        assert_eq!(judged.detail, "2 servers, 8.0ms apart at most");
    }
}
