//! [`Locks`]: what all locks of a coordinator have in common.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::ids::Ids;
use super::local_queue::LocalQueue;
use crate::engine::Engine;
use crate::model::MutexName;

/// The locks of a coordinator: two of the same name share one local queue.
#[derive(Debug)]
pub(crate) struct Locks {
    pub(super) engine: Engine,
    pub(super) ids: Ids,
    queues: Mutex<BTreeMap<MutexName, Weak<LocalQueue>>>,
}

impl Locks {
    pub(crate) fn new(engine: Engine, ids: Ids) -> Arc<Self> {
        Arc::new(Self {
            engine,
            ids,
            queues: Mutex::default(),
        })
    }

    pub(super) fn queue(&self, name: &MutexName) -> Arc<LocalQueue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
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
}
