//! One look for all listeners of this process: batched, adaptive, and only while
//! there is a listener. Where the server cannot push, this is what wakes waiters;
//! a poll for each of them would ask the server as often as there are waiters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::watch::Registry;
use crate::clock::{Clock, Moment};
use crate::error::Result;
use crate::model::MutexName;

/// The longest between two looks: a release is seen within it and a round
/// trip.
pub(in crate::stores) const POLL: Duration = Duration::from_millis(60);

/// The shortest: while owners change, and when a listener is new.
const QUICK: Duration = Duration::from_millis(15);

/// How often a name that stays free is called out again, in case the one that
/// was told could not come.
const CALL_AGAIN: Duration = Duration::from_millis(500);

/// The longest pause while the store does not answer.
const TROUBLE: Duration = Duration::from_millis(500);

/// What was seen of a name.
#[derive(Debug)]
pub(in crate::stores) struct Seen {
    pub(in crate::stores) name: String,
    /// `None`: it is free.
    pub(in crate::stores) owner: Option<String>,
}

/// Looks at many names at once. A name that is not in the answer is free.
pub(in crate::stores) trait Look: Send + Sync + 'static {
    fn look(&self, names: Vec<MutexName>) -> impl Future<Output = Result<Vec<Seen>>> + Send;
}

/// What the last look saw of a name.
struct Known {
    owner: Option<String>,
    /// When its waiters were last told that it is free.
    called_at: Option<Moment>,
}

/// Looks for all listeners, until the last has gone.
pub(in crate::stores) async fn poll(registry: Arc<Registry>, look: impl Look, clock: Clock) {
    let mut known: BTreeMap<MutexName, Known> = BTreeMap::new();
    let mut interval = QUICK;
    let mut in_trouble = false;
    while let Some(names) = registry.names() {
        let looked_at = clock.now();
        match look.look(names.clone()).await {
            Ok(seen) => {
                if std::mem::replace(&mut in_trouble, false) {
                    registry.tell_all_resumed();
                    interval = QUICK;
                }
                let moved = tell(&registry, &names, seen, &mut known, looked_at);
                interval = if moved {
                    QUICK
                } else {
                    interval.mul_f64(1.2).min(POLL)
                };
            }
            // No listener is told: there is nothing that it could do. When the
            // server answers again, all of them look for themselves.
            Err(error) => {
                tracing::debug!(%error, "the look for those who wait failed");
                in_trouble = true;
                interval = (interval * 2).min(TROUBLE);
            }
        }
        let next = looked_at + interval;
        if clock.limit(next, registry.changed()).await.is_some() {
            // A new listener: soon, but those who come together share a look.
            let soon = (looked_at + QUICK).min(next);
            clock.sleep_until(soon).await;
            interval = QUICK;
        }
    }
}

/// Tells who must know; whether anything has changed.
fn tell(
    registry: &Registry,
    names: &[MutexName],
    seen: Vec<Seen>,
    known: &mut BTreeMap<MutexName, Known>,
    now: Moment,
) -> bool {
    let mut owners: BTreeMap<String, Option<String>> = seen
        .into_iter()
        .map(|seen| (seen.name, seen.owner))
        .collect();
    known.retain(|name, _| names.binary_search(name).is_ok());
    let mut any = false;
    for name in names {
        let owner = owners.remove(name.as_str()).flatten();
        let is_new = registry.take_new(name);
        let before = known.get(name);
        let moved = before.is_none_or(|before| before.owner != owner);
        // What happened between the listener's last look and our first, no
        // look has seen.
        if moved || is_new {
            registry.tell_observers(name);
        }
        let called_at = before.and_then(|before| before.called_at);
        let call = owner.is_none()
            && (moved || is_new || called_at.is_none_or(|at| now >= at + CALL_AGAIN));
        if call {
            registry.tell_waiters(name);
        }
        let called_at = if call { Some(now) } else { called_at };
        known.insert(name.clone(), Known { owner, called_at });
        any |= moved;
    }
    any
}
