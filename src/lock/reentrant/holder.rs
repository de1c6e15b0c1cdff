//! [`Holder`]: who holds.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::guard::ReentrantGuard;
use super::holds::Holds;
use crate::sync::Mutex;

/// One who holds reentrant locks: clones are the same holder.
///
/// Its name appears in the store where ids name their holder. Guards that it
/// [kept](ReentrantGuard::keep) are given back when its last clone is dropped.
#[derive(Clone)]
pub struct Holder(Arc<HolderParts>);

struct HolderParts {
    number: u64,
    name: Arc<str>,
    /// A hold of this holder has begun.
    arrived: Notify,
    /// Guards that outlive the place where they were made.
    kept: Mutex<Vec<ReentrantGuard>>,
}

/// A holder, for as long as it lives.
pub(super) struct WeakHolder(Weak<HolderParts>);

impl WeakHolder {
    pub(super) fn upgrade(&self) -> Option<Holder> {
        self.0.upgrade().map(Holder)
    }
}

tokio::task_local! {
    static CURRENT: Holder;
}

/// The longest name that is kept, in bytes: ids have an end.
const LONGEST: usize = 64;

impl Holder {
    /// A new holder, different from every other, also of the same name.
    ///
    /// What an id cannot contain is replaced in the name; it is for people.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(Arc::new(HolderParts {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: presentable(name.as_ref()).into(),
            arrived: Notify::new(),
            kept: Mutex::default(),
        }))
    }

    /// The holder that is in force here, by [`scope`](Self::scope).
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Runs `work` with this holder in force. Tasks that it spawns are not in
    /// the scope: they are others, unless they are given the holder.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`.
    pub async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    pub(super) fn downgrade(&self) -> WeakHolder {
        WeakHolder(Arc::downgrade(&self.0))
    }

    pub(super) fn arrived(&self) -> Notified<'_> {
        self.0.arrived.notified()
    }

    pub(super) fn has_arrived(&self) {
        self.0.arrived.notify_waiters();
    }

    pub(super) fn keep(&self, guard: ReentrantGuard) {
        self.0.kept.lock().push(guard);
    }

    /// The guard on `holds` that was kept last.
    pub(super) fn take_kept(&self, holds: &Arc<Holds>) -> Option<ReentrantGuard> {
        let mut guards = self.0.kept.lock();
        let at = guards.iter().rposition(|guard| guard.is_on(holds))?;
        Some(guards.remove(at))
    }
}

/// `name` without what an id must not contain.
fn presentable(name: &str) -> String {
    let plain = |c: char| if c.is_control() || c == '@' { '_' } else { c };
    let mut kept = String::with_capacity(name.len().min(LONGEST));
    for c in name.trim().chars().map(plain) {
        if kept.len() + c.len_utf8() > LONGEST {
            break;
        }
        kept.push(c);
    }
    let kept = kept.trim_end();
    if kept.is_empty() { "holder" } else { kept }.to_owned()
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Holder({:?}, {})", self.0.name, self.0.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContenderId;

    #[test]
    fn every_name_makes_an_id() {
        for name in [
            "worker-3",
            "",
            "  ",
            "a\nb",
            "x@@y",
            &"ü".repeat(100),
            "pool-1 thread 2",
        ] {
            let name = presentable(name);
            assert!(name.len() <= LONGEST && !name.is_empty());
            let id = format!("{}:{name}:18446744073709551615", uuid::Uuid::nil());
            ContenderId::new(&id).unwrap_or_else(|error| panic!("{id}: {error}"));
        }
    }

    #[tokio::test]
    async fn a_scope_reaches_what_it_awaits_and_not_what_it_spawns() {
        let holder = Holder::new("a");
        assert!(Holder::current().is_none());
        let inside = async {
            let seen = Holder::current().map(|holder| holder.number());
            let spawned = tokio::spawn(async { Holder::current().is_none() }).await;
            (seen, spawned.unwrap())
        };
        assert_eq!(holder.scope(inside).await, (Some(holder.number()), true));
        assert!(Holder::current().is_none());
    }
}
