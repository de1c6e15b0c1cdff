//! Callbacks: in order, one at a time, off the async workers.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

type Job = Box<dyn FnOnce() + Send>;

/// The callbacks of one service. No thread while idle: a
/// thread of the runtime's blocking pool is borrowed while there is work.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    /// `None`: run where they arise.
    runtime: Option<Handle>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_running: bool,
}

impl Dispatch {
    /// Callbacks on the blocking threads of `runtime`.
    pub(crate) fn blocking(runtime: Handle) -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::default(),
            runtime: Some(runtime),
        }))
    }

    /// Callbacks where they arise: for simulations that replay.
    pub(crate) fn inline() -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::default(),
            runtime: None,
        }))
    }

    /// Runs `job` after all that were pushed before it have returned.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.queue();
        queue.jobs.push_back(Box::new(job));
        if std::mem::replace(&mut queue.is_running, true) {
            return;
        }
        drop(queue);
        match &self.0.runtime {
            Some(runtime) => {
                let this = self.clone();
                runtime.spawn_blocking(move || this.work());
            }
            None => self.work(),
        }
    }

    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue();
                match queue.jobs.pop_front() {
                    Some(job) => job,
                    None => {
                        queue.is_running = false;
                        return;
                    }
                }
            };
            // The caller's code: its panic is its own affair, the next
            // callback comes all the same.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!(target: "tenure::service", "a callback panicked");
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("waiting", &self.queue().jobs.len())
            .finish()
    }
}
