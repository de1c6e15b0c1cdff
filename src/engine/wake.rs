//! When to look again, when to try again, and how long a call may take.

use std::time::Duration;

use super::settings::ContentionSettings;
use crate::backend::Answer;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{ContendPeriod, ContenderId, LeaseTerms};

/// How far apart waiters of an ordered store try after a crash: enough for the
/// one before to have taken it.
const STAGGER: Duration = Duration::from_millis(20);

/// The first and the longest pause after a failed call.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How often at most a broadcast makes a candidate look.
pub(super) const BROADCAST_LOOK: Duration = Duration::from_millis(500);

/// Over how long the looks after a reconnect are spread.
pub(super) const RESUME_SPREAD: Duration = Duration::from_millis(100);

/// How long after a refusal to look again, if nothing is heard before.
///
/// A store with an order says who stands where: the head tries as soon as the
/// lease ends, the rest behind it. Elsewhere the jitter of [`ContendPeriod`]
/// keeps them apart. Never longer than the profile's safety look.
pub(super) fn after_refusal(
    settings: &ContentionSettings,
    contender: &ContenderId,
    answer: &Answer,
    fraction: f64,
) -> Duration {
    let (owner, now) = (answer.owner(), answer.now());
    let delay = match (owner.remaining(now), answer.place()) {
        (None, _) => settings.safety_look,
        // Free, and yet refused: a race was lost a moment ago.
        (Some(Duration::ZERO), None) => Duration::from_millis(2).mul_f64(1.0 + 4.0 * fraction),
        (Some(left), Some(place)) => left + Duration::from_millis(1) + STAGGER * place.rank,
        (Some(_), None) => {
            let period = ContendPeriod::new(contender.clone(), settings.jitter);
            // An owner with our own id is still another's grant.
            period.next_delay_of_waiter(owner, now, fraction)
        }
    };
    delay.clamp(Duration::from_millis(1), settings.safety_look)
}

/// The pause after the `failures`-th failure in a row: doubling, jittered.
pub(crate) fn backoff(failures: u32, fraction: f64) -> Duration {
    let (first, longest) = BACKOFF;
    let full = first
        .saturating_mul(1 << failures.saturating_sub(1).min(16))
        .min(longest);
    full.mul_f64(0.5 + fraction / 2.0)
}

/// The pause before a renewal is tried again: the usual one, but several
/// always fit into what is left.
pub(super) fn renewal_backoff(failures: u32, fraction: f64, left: Duration) -> Duration {
    backoff(failures, fraction).min(left / 8)
}

/// How long a renewal may take: at most a quarter of what is left, so that a
/// hung call leaves room for others.
pub(super) fn renewal_limit(terms: &LeaseTerms, deadline: Moment, now: Moment) -> Duration {
    terms
        .call_timeout()
        .min(deadline.since(now) / 4)
        .max(Duration::from_millis(1))
}

/// What `call` gives within `limit`.
pub(super) async fn within<F: Future>(
    clock: &Clock,
    limit: Duration,
    call: F,
) -> Result<F::Output> {
    let answer = clock.limit(clock.now() + limit, call).await;
    answer.ok_or_else(|| late(limit))
}

/// The answer that did not come within `limit`: what was asked for may still
/// happen.
pub(super) fn late(limit: Duration) -> Error {
    Error::late(ErrorKind::Timeout, "the store", limit, Outcome::MayHave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_within_bounds() {
        assert_eq!(backoff(1, 0.0), Duration::from_millis(25));
        assert_eq!(backoff(2, 0.0), Duration::from_millis(50));
        for failures in [7, 40, u32::MAX] {
            assert!(backoff(failures, 0.999) <= Duration::from_secs(2));
            assert!(backoff(failures, 0.0) >= Duration::from_secs(1));
        }
    }

    #[test]
    fn a_renewal_has_room_for_several_tries() {
        let terms = LeaseTerms::default();
        let now = Moment::from_nanos(0);
        let mut left = terms.lease() - terms.renew_after() - terms.margin();
        let mut tries = 0;
        while left > Duration::from_millis(5) {
            left -= renewal_limit(&terms, now + left, now);
            left -= renewal_backoff(tries + 1, 1.0, left);
            tries += 1;
        }
        assert!(tries >= 8, "{tries} tries");
    }
}
