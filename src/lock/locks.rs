//! [`Locks`]: what the locks of a coordinator share.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use uuid::Uuid;

use super::local_queue::LocalQueue;
use super::options::LockOptions;
use crate::backend::Nonce;
use crate::engine::{Engine, LocalWaiters};
use crate::error::Result;
use crate::model::chance::{self, Here};
use crate::model::{ContenderId, ContenderIdGenerator, Host, MutexName, Purpose};
use crate::sync::Mutex;

/// The locks of a coordinator: two of the same name share one local queue.
#[derive(Debug)]
pub(crate) struct Locks {
    pub(super) engine: Engine,
    pub(super) ids: Ids,
    /// Of all locks that are made without.
    usual_options: Arc<LockOptions>,
    queues: Mutex<BTreeMap<MutexName, Weak<LocalQueue>>>,
}

impl Locks {
    pub(crate) fn new(engine: Engine, ids: Ids) -> Arc<Self> {
        Arc::new(Self {
            engine,
            ids,
            usual_options: Arc::default(),
            queues: Mutex::default(),
        })
    }

    /// The options of a lock that is made without.
    pub(crate) fn usual_options(&self) -> Arc<LockOptions> {
        Arc::clone(&self.usual_options)
    }

    pub(super) fn queue(&self, name: &MutexName) -> Arc<LocalQueue> {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.get(name).and_then(Weak::upgrade) {
            return queue;
        }
        // Names come and go: now and then the forgotten ones are swept out.
        if queues.len().is_power_of_two() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(LocalQueue::new());
        queues.insert(name.clone(), Arc::downgrade(&queue));
        queue
    }

    /// The tasks that wait behind another.
    pub(crate) fn local_waiters(&self) -> Vec<LocalWaiters> {
        let queues = self.queues.lock();
        let alive = queues.iter().filter_map(|(name, queue)| {
            let queue = queue.upgrade()?;
            Some((name.clone(), queue))
        });
        // The last handle of a queue must not be dropped under the mutex: what
        // lingers in it goes back then.
        let alive: Vec<_> = alive.collect();
        drop(queues);
        let waiters = alive.into_iter().map(|(mutex, queue)| LocalWaiters {
            mutex,
            count: queue.waiting_behind(),
        });
        waiters.filter(|waiters| waiters.count > 0).collect()
    }
}

/// Makes the ids of a process's locks, a new one for each bid.
#[derive(Debug)]
pub(crate) enum Ids {
    /// As [`Host`] makes them, where the application has not said otherwise.
    Usual,
    Made(Arc<dyn ContenderIdGenerator>),
    /// `<client>:<holder>:<number>`, as Bedrock and Redisson begin them. The
    /// layout has no room for a nonce, so the number is one: random for each
    /// bid, by the system, so that a copy of this process has others too. The
    /// client's UUID says what the lock is; Redisson's are of version 4, and
    /// say nothing.
    Holders {
        client: Uuid,
    },
}

impl Ids {
    pub(crate) fn made_by(generator: &Arc<dyn ContenderIdGenerator>) -> Self {
        Self::Made(Arc::clone(generator))
    }

    /// Ids that name their holder, and say what it wants.
    pub(crate) fn holders(purpose: Purpose) -> Self {
        let client = purpose.marked_on(chance::bits());
        Self::Holders {
            client: Uuid::from_u128(client),
        }
    }

    /// Whether every id is another, also among those of other processes.
    pub(super) fn are_unique(&self) -> bool {
        match self {
            Self::Made(generator) => generator.unique_per_call(),
            Self::Usual | Self::Holders { .. } => true,
        }
    }

    /// An id, and a nonce for its first bid where one was drawn with it.
    #[inline]
    pub(super) fn next(
        &self,
        holder: Option<&str>,
        here: Here,
    ) -> Result<(ContenderId, Option<Nonce>)> {
        let id = match self {
            Self::Usual => {
                let (id, bits) = Host::marked(here)?;
                return Ok((id, Some(Nonce::drawn(bits))));
            }
            Self::Made(generator) => generator.generate(),
            Self::Holders { client } => {
                let number = chance::bits() >> 64;
                let holder = holder.unwrap_or("lock");
                ContenderId::new(format!("{client}:{holder}:{number}"))
            }
        };
        id.map(|id| (id, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_process_makes_other_ids() {
        let client = Uuid::new_v4();
        let (parent, child) = (Ids::Holders { client }, Ids::Holders { client });
        for _ in 0..100 {
            let (one, other) = (
                parent.next(Some("h"), Here::now()),
                child.next(Some("h"), Here::now()),
            );
            assert_ne!(one.unwrap().0, other.unwrap().0);
        }
    }
}
