//! A lock is really taken, waited for and freed: whatever the store allows or
//! forbids shows.

use std::time::{Duration, Instant};

use tenure::backend::{Finding, Profile, Severity, Wakeup};
use tenure::{Coordinator, Error, Lock, LockGuard};

use super::remedy;
use crate::exit::told;
use crate::output::brief;

/// What is taken for the trial.
pub(super) const NAME: &str = "tenure-doctor";

/// How long the waiter has to take its place.
const PLACE: Duration = Duration::from_millis(300);

/// How often a waiter may be late before that counts: a busy machine is late
/// now and then.
const ROUNDS: usize = 3;

/// How long the whole may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Has `one` hold a lock that `two` waits for.
pub(super) async fn trial(one: &Coordinator, two: &Coordinator) -> Vec<Finding> {
    let tried = tokio::time::timeout(LIMIT, attempt(one, two)).await;
    match tried {
        Ok(Ok(findings)) => findings,
        Ok(Err(error)) => vec![Finding::bad(
            "taking",
            format!("a lock cannot be taken and freed: {}", told(&error)),
            remedy(Some(error.kind())),
        )],
        Err(_) => vec![Finding::bad(
            "taking",
            format!("a lock was not taken and freed within {}", brief(LIMIT)),
            "see what keeps the store from answering",
        )],
    }
}

async fn attempt(one: &Coordinator, two: &Coordinator) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let Some(held) = one.lock(NAME)?.try_acquire().await? else {
            let detail = "not looked into: another doctor is at work";
            return Ok(vec![Finding::good("taking", detail)]);
        };
        let detail = format!("a lock was taken in {}", brief(start.elapsed()));
        let took = hand_over(held, &two.lock(NAME)?).await?;
        let waiting = judge(&one.profile(), took);
        let is_good = waiting.severity == Severity::Good;
        findings = vec![Finding::good("taking", detail), waiting];
        if is_good {
            break;
        }
    }
    Ok(findings)
}

/// How long after the lock was freed its waiter had it.
async fn hand_over(held: LockGuard, waiter: &Lock) -> Result<Duration, Error> {
    let free = async {
        tokio::time::sleep(PLACE).await;
        let start = Instant::now();
        held.release().await.map(|()| start)
    };
    let (freed, got) = tokio::join!(free, acquire(waiter));
    Ok(got?.saturating_duration_since(freed?))
}

/// Takes the lock and frees it; tells when it was taken.
async fn acquire(lock: &Lock) -> Result<Instant, Error> {
    let guard = lock.acquire().await?;
    let got = Instant::now();
    guard.release().await.map(|()| got)
}

fn judge(profile: &Profile, took: Duration) -> Finding {
    let detail = format!("a waiter had the lock {} after it was freed", brief(took));
    match profile.wakeup {
        // It had just looked when the lock was freed.
        Wakeup::Push if took > profile.safety_look / 2 => Finding::warning(
            "waiting",
            detail + ": it was not woken, but looked by itself",
            "see whether this user may subscribe, and whether the network ends idle connections",
        ),
        _ => Finding::good("waiting", detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_waiter_is_odd_only_where_it_should_have_been_woken() {
        let (soon, late) = (Duration::from_millis(5), Duration::from_secs(4));
        let (push, poll) = (Profile::push("x"), Profile::poll("x", late));
        for (profile, took, severity) in [
            (&push, soon, Severity::Good),
            (&push, late, Severity::Warning),
            (&poll, late, Severity::Good),
        ] {
            assert_eq!(judge(profile, took).severity, severity);
        }
    }
}
