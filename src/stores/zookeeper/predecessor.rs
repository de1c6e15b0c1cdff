//! The watch of a waiter on the node before its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use zookeeper_client::{EventType, OneshotWatcher};

/// A watch that is waited for by a task. Dropped, it is taken back.
#[derive(Debug)]
pub(super) struct PredecessorWatch {
    child: String,
    /// It has been seen as the first of all. None comes before it: numbers rise.
    leads: bool,
    is_gone: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl PredecessorWatch {
    /// Waits for what happens to `child`, and tells of it by `tell`.
    pub(super) fn start(
        runtime: &Handle,
        child: &str,
        leads: bool,
        watcher: OneshotWatcher,
        tell: impl FnOnce() + Send + 'static,
    ) -> Self {
        let is_gone = Arc::new(AtomicBool::new(false));
        let found = Arc::clone(&is_gone);
        let task = runtime.spawn(async move {
            // Not when its data was changed, nor with the end of the session.
            let is_deleted = watcher.changed().await.event_type == EventType::NodeDeleted;
            found.store(is_deleted, Ordering::Release);
            tell();
        });
        Self {
            child: child.to_owned(),
            leads,
            is_gone,
            task,
        }
    }

    /// Those before it have gone.
    pub(super) fn leads(&mut self) {
        self.leads = true;
    }

    /// Whether it watches `child`, and nothing has happened to it.
    pub(super) fn is_on(&self, child: &str) -> bool {
        self.child == child && !self.task.is_finished()
    }

    /// Whether the node led, and has gone.
    pub(super) fn has_led(&self) -> bool {
        self.leads && self.is_gone.load(Ordering::Acquire)
    }
}

impl Drop for PredecessorWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
