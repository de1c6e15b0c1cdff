//! Callbacks: in order, one at a time, off the async workers.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::sync::Mutex;

type BoxedCallback = Box<dyn FnOnce() + Send>;

/// The callbacks of one service. No thread while idle: a
/// thread of the runtime's blocking pool is borrowed while there is work.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<CallbackQueue>);

struct CallbackQueue {
    callbacks: Mutex<Callbacks>,
    /// `None`: run where they arise.
    runtime: Option<Handle>,
}

#[derive(Default)]
struct Callbacks {
    waiting: VecDeque<BoxedCallback>,
    is_running: bool,
}

impl Dispatch {
    /// Callbacks on the blocking threads of `runtime`.
    pub(crate) fn blocking(runtime: Handle) -> Self {
        Self(Arc::new(CallbackQueue {
            callbacks: Mutex::default(),
            runtime: Some(runtime),
        }))
    }

    /// Callbacks where they arise: for simulations that replay.
    pub(crate) fn inline() -> Self {
        Self(Arc::new(CallbackQueue {
            callbacks: Mutex::default(),
            runtime: None,
        }))
    }

    /// Runs `callback` after all that were pushed before it have returned.
    pub(crate) fn push(&self, callback: impl FnOnce() + Send + 'static) {
        let mut callbacks = self.0.callbacks.lock();
        callbacks.waiting.push_back(Box::new(callback));
        if std::mem::replace(&mut callbacks.is_running, true) {
            return;
        }
        drop(callbacks);
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
            let callback = {
                let mut callbacks = self.0.callbacks.lock();
                match callbacks.waiting.pop_front() {
                    Some(callback) => callback,
                    None => {
                        callbacks.is_running = false;
                        return;
                    }
                }
            };
            // The caller's code: its panic is its own affair, the next
            // callback comes all the same.
            if catch_unwind(AssertUnwindSafe(callback)).is_err() {
                tracing::error!(target: "tenure::service", "a callback panicked");
            }
        }
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("waiting", &self.0.callbacks.lock().waiting.len())
            .finish()
    }
}
