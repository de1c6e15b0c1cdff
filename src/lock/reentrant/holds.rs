//! [`Holds`]: who holds a lock how often. [`ReentrantLocks`]: those of a
//! coordinator.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use super::holder::Holder;
use crate::backend::{AnyHoldStore, Nonce};
use crate::engine::{ContenderStatus, Engine, LocalWaiters, Tenure};
use crate::error::{LeaseLost, LossCause, Result};
use crate::lock::guard::LockGuard;
use crate::lock::locks::{Ids, Locks};
use crate::model::{MutexName, Purpose};
use crate::sync::Mutex;

/// The reentrant locks of a coordinator.
pub(crate) struct ReentrantLocks {
    /// Reentrant locks, or locks over several servers.
    purpose: Purpose,
    /// The locks that are held, whose holds are counted.
    below: Arc<Locks>,
    /// Where the counts are shown, if they are.
    shown_in: Option<AnyHoldStore>,
    holds: Mutex<BTreeMap<MutexName, Weak<Holds>>>,
}

impl ReentrantLocks {
    /// On the locks of a store, whose holds no other process sees.
    pub(crate) fn unseen(below: Arc<Locks>) -> Arc<Self> {
        Self::new(Purpose::Reentrant, below, None)
    }

    /// In a store that shows how often each is held, and what its holders want
    /// it for.
    pub(crate) fn shown_in(holds: AnyHoldStore, engine: Engine, purpose: Purpose) -> Arc<Self> {
        Self::new(
            purpose,
            Locks::new(engine, Ids::holders(purpose)),
            Some(holds),
        )
    }

    fn new(purpose: Purpose, below: Arc<Locks>, shown_in: Option<AnyHoldStore>) -> Arc<Self> {
        Arc::new(Self {
            purpose,
            below,
            shown_in,
            holds: Mutex::default(),
        })
    }

    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub(super) fn below(&self) -> &Arc<Locks> {
        &self.below
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.below.engine
    }

    /// Ends everything that is held and waited for, and waits until the store
    /// has been told.
    pub(crate) async fn settle(&self) {
        self.engine().settle().await;
    }

    /// Those who hold and wait.
    pub(crate) fn contenders(&self) -> Vec<ContenderStatus> {
        self.engine().status().contenders
    }

    /// The tasks that wait behind another.
    pub(crate) fn local_waiters(&self) -> Vec<LocalWaiters> {
        self.below.local_waiters()
    }

    /// An error when something that ended then was not released for certain.
    pub(crate) fn confirmed(&self) -> Result<()> {
        self.engine().confirmed()
    }

    pub(super) fn holds(&self, name: &MutexName) -> Arc<Holds> {
        let mut by_name = self.holds.lock();
        if let Some(holds) = by_name.get(name).and_then(Weak::upgrade) {
            return holds;
        }
        // Names come and go: now and then the forgotten ones are swept out.
        if by_name.len().is_power_of_two() {
            by_name.retain(|_, holds| holds.strong_count() > 0);
        }
        let holds = Arc::<Holds>::default();
        by_name.insert(name.clone(), Arc::downgrade(&holds));
        holds
    }

    /// Whether the store shows how often a lock is held.
    pub(super) fn shows(&self) -> bool {
        self.shown_in.is_some()
    }

    /// Shows in the store how often the grant of `tenure` is held; false when
    /// the store has it no more.
    pub(super) async fn show(&self, holds: &Holds, tenure: &Tenure) -> bool {
        let Some(shown_in) = &self.shown_in else {
            return true;
        };
        let grant = tenure.grant();
        // One at a time, each with the count of its moment: the last to write
        // writes the last count.
        let mut shown = holds.shown.lock().await;
        let count = holds.count_of(grant.nonce);
        if shown.as_ref().map_or(1, |shown| shown.of(grant.nonce)) == count {
            return true;
        }
        *shown = Some(Shown::unknown(grant.nonce));
        let recording = shown_in.record(&grant, count);
        let limit = grant.terms.call_timeout();
        match self.engine().call_within("record", limit, recording).await {
            Ok(true) => {
                shown.replace(Shown {
                    nonce: grant.nonce,
                    count,
                });
                true
            }
            Ok(false) => false,
            // It is only shown: the next change or the next holder shows it.
            Err(_) => true,
        }
    }
}

impl fmt::Debug for ReentrantLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReentrantLocks")
            .field("engine", self.engine())
            .finish_non_exhaustive()
    }
}

/// Who holds one lock how often.
#[derive(Default)]
pub(super) struct Holds {
    /// By holder. More than one only when all but one have lost it.
    by_holder: Mutex<HashMap<u64, Arc<Hold>>>,
    shown: tokio::sync::Mutex<Option<Shown>>,
}

/// What the store shows.
struct Shown {
    nonce: Nonce,
    count: u32,
}

impl Shown {
    /// What it shows is not known.
    fn unknown(nonce: Nonce) -> Self {
        Self { nonce, count: 0 }
    }

    /// A new grant is shown with one hold.
    fn of(&self, nonce: Nonce) -> u32 {
        if self.nonce == nonce { self.count } else { 1 }
    }
}

/// A lock in the hands of one holder.
pub(super) struct Hold {
    holder: u64,
    tenure: Tenure,
    /// Changed only under the mutex of [`Holds`].
    count: AtomicU32,
    /// Whether it was ever held more than once.
    nested: AtomicBool,
    guard: Mutex<Option<LockGuard>>,
}

impl Hold {
    pub(super) fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn was_nested(&self) -> bool {
        self.nested.load(Ordering::Relaxed)
    }

    /// The store says that it is another's.
    pub(super) fn is_taken(&self) {
        self.tenure.end(LossCause::Taken);
    }
}

impl Holds {
    /// The hold of `holder`, if it is not lost.
    pub(super) fn live(&self, holder: &Holder) -> Option<Arc<Hold>> {
        let hold = self.by_holder.lock().get(&holder.number()).cloned();
        hold.filter(|hold| !hold.tenure.is_lost())
    }

    /// Counts one hold more, if `holder` has one.
    ///
    /// # Errors
    /// When it has lost it: its guards must go before it can begin anew.
    pub(super) fn again(&self, holder: &Holder) -> Result<Option<Arc<Hold>>, LeaseLost> {
        let holds = self.by_holder.lock();
        let Some(hold) = holds.get(&holder.number()) else {
            return Ok(None);
        };
        hold.tenure.token()?;
        hold.count.fetch_add(1, Ordering::Relaxed);
        hold.nested.store(true, Ordering::Relaxed);
        Ok(Some(Arc::clone(hold)))
    }

    /// Opens the account of `holder`, who has just won.
    pub(super) fn begin(&self, holder: &Holder, guard: LockGuard) -> Arc<Hold> {
        let hold = Arc::new(Hold {
            holder: holder.number(),
            tenure: guard.tenure().clone(),
            count: AtomicU32::new(1),
            nested: AtomicBool::new(false),
            guard: Mutex::new(Some(guard)),
        });
        self.by_holder.lock().insert(hold.holder, Arc::clone(&hold));
        holder.has_arrived();
        hold
    }

    /// Counts one hold less; the lock itself when that was the last.
    pub(super) fn leave(&self, hold: &Arc<Hold>) -> Option<LockGuard> {
        let mut holds = self.by_holder.lock();
        if hold.count.fetch_sub(1, Ordering::Relaxed) > 1 {
            return None;
        }
        if holds
            .get(&hold.holder)
            .is_some_and(|known| Arc::ptr_eq(known, hold))
        {
            holds.remove(&hold.holder);
        }
        drop(holds);
        hold.guard.lock().take()
    }

    /// How often the grant of `nonce` is held; at least once while it lasts.
    fn count_of(&self, nonce: Nonce) -> u32 {
        let holds = self.by_holder.lock();
        let mut all = holds.values();
        let hold = all.find(|hold| hold.tenure.nonce() == nonce);
        hold.map_or(1, |hold| hold.count().max(1))
    }
}
