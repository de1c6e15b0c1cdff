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
const QUICK: Duration = Duration::from_millis(8);

/// In between, a look comes when this part of the time has passed since the
/// last change: who was kept waiting for long can wait a little longer.
const PART: u32 = 16;

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
    /// How long the owner's lease lasts yet.
    pub(in crate::stores) left: Duration,
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
    let mut moved_at = clock.now();
    let mut in_trouble = false;
    while let Some(names) = registry.names() {
        let looked_at = clock.now();
        match look.look(names.clone()).await {
            Ok(seen) => {
                if std::mem::replace(&mut in_trouble, false) {
                    registry.tell_all_resumed();
                    moved_at = looked_at;
                }
                note_ends(&registry, &names, &seen, clock.now());
                if tell(&registry, &names, seen, &mut known, looked_at) {
                    moved_at = looked_at;
                }
                interval = (looked_at.since(moved_at) / PART).clamp(QUICK, POLL);
            }
            // No listener is told: there is nothing that it could do. When the
            // server answers again, all of them look for themselves.
            Err(error) => {
                tracing::debug!(%error, "the look for those who wait failed");
                in_trouble = true;
                interval = (interval * 2).min(TROUBLE);
            }
        }
        if wait(&registry, &clock, looked_at, interval).await == Woken::ByListener {
            moved_at = clock.now();
        }
    }
}

/// What ended a wait.
#[derive(Debug, PartialEq, Eq)]
enum Woken {
    ByTime,
    ByListener,
}

/// Waits for the next look, and tells of the leases that end meanwhile.
async fn wait(registry: &Registry, clock: &Clock, looked_at: Moment, interval: Duration) -> Woken {
    let mut woken = Woken::ByTime;
    let mut next = looked_at + interval;
    loop {
        let at = registry.first_end().map_or(next, |end| end.min(next));
        let is_woken = clock.limit(at, registry.changed()).await.is_some();
        if is_woken && registry.has_new() {
            // Soon, but those who come together share a look.
            next = next.min(looked_at + QUICK);
            woken = Woken::ByListener;
        } else if is_woken && registry.is_empty() {
            return woken;
        }
        registry.tell_ended(clock.now());
        if clock.now() >= next {
            return woken;
        }
    }
}

/// Remembers when the leases are over of which was heard at `now`.
fn note_ends(registry: &Registry, names: &[MutexName], seen: &[Seen], now: Moment) {
    for seen in seen {
        // In order, as they were asked for.
        if let Ok(at) = names.binary_search_by(|name| name.as_str().cmp(&seen.name)) {
            let ends_at = seen.owner.as_ref().map(|_| after(now, seen.left));
            registry.note_end(&names[at], ends_at);
        }
    }
}

/// When a lease is over that lasted for `left` yet, as was heard at `now`. Its
/// last millisecond is still owned.
pub(in crate::stores) fn after(now: Moment, left: Duration) -> Moment {
    now + left + Duration::from_millis(1)
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
