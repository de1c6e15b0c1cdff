//! [`Background`]: the one thread on which everything runs.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use futures_core::Stream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::engine::Birth;
use crate::error::{Error, ErrorKind, Outcome, Result};

/// How long the thread goes on for releases after the last user has left.
const LAST_RELEASES: Duration = Duration::from_secs(60);

/// Closes what lives on the thread.
type Farewell = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// A runtime on a thread of its own. It ends when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Background(Arc<BackgroundParts>);

struct BackgroundParts {
    runtime: Handle,
    thread: ThreadId,
    birth: Birth,
    /// What to do when no user is left.
    farewell: Arc<OnceLock<Farewell>>,
    /// Its drop ends the thread.
    _stay: oneshot::Sender<()>,
}

impl Background {
    pub(super) fn start() -> Result<Self> {
        let no_thread = |error: std::io::Error| {
            Error::new(ErrorKind::Store, Outcome::DidNot)
                .with_message("the system gave no thread for the background")
                .with_source(error)
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .thread_name("tenure-callback")
            .build()
            .map_err(no_thread)?;
        let (stay, leave) = oneshot::channel();
        let handle = runtime.handle().clone();
        let farewell = Arc::new(OnceLock::<Farewell>::new());
        let to_close = Arc::clone(&farewell);
        let work = move || {
            runtime.block_on(async {
                let _ = leave.await;
                if let Some(close) = to_close.get() {
                    let _ = tokio::time::timeout(LAST_RELEASES, close()).await;
                }
            });
            // A callback that hangs must not keep the thread.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("tenure".into());
        let thread = thread.spawn(work).map_err(no_thread)?;
        Ok(Self(Arc::new(BackgroundParts {
            runtime: handle,
            thread: thread.thread().id(),
            birth: Birth::here(),
            farewell,
            _stay: stay,
        })))
    }

    /// What closes everything when no user is left.
    pub(super) fn ends_with<F>(&self, close: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let _ = self.0.farewell.set(Box::new(move || Box::pin(close())));
    }

    /// Runs `work` in the background and waits for its end.
    ///
    /// # Errors
    /// What `work` fails with; [`WrongState`](ErrorKind::WrongState) on the
    /// background thread, which would wait for itself.
    pub(super) fn wait<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.check()?;
        let (tell, told) = mpsc::sync_channel(1);
        self.0.runtime.spawn(async move {
            let _ = tell.send(work.await);
        });
        told.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// The same, for at most `limit`; `None` when it took longer. `work` is
    /// dropped then.
    pub(super) fn wait_within<T, F>(&self, limit: Duration, work: F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.check()?;
        let (tell, told) = mpsc::sync_channel(1);
        let task = self.0.runtime.spawn(async move {
            let _ = tell.send(work.await);
        });
        // Longer than the clock can count is for ever.
        let outcome = match Instant::now().checked_add(limit) {
            Some(_) => told.recv_timeout(limit),
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match outcome {
            Ok(output) => Ok(Some(output)),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) => {
                task.abort();
                Ok(None)
            }
        }
    }

    /// The next that `stream` yields; at its end, or when there is nothing to
    /// wait on any more, it is gone.
    pub(super) fn next<S>(&self, stream: &mut Option<S>) -> Option<S::Item>
    where
        S: Stream + Unpin + Send + 'static,
        S::Item: Send,
    {
        let mut taken = stream.take()?;
        let next = self.wait(async move {
            let next = poll_fn(|cx| Pin::new(&mut taken).poll_next(cx)).await;
            Ok((next, taken))
        });
        let (next, taken) = next.ok()?;
        *stream = next.is_some().then_some(taken);
        next
    }

    fn check(&self) -> Result<()> {
        self.0.birth.check()?;
        if thread::current().id() == self.0.thread {
            return Err(Error::wrong_state(
                "this is the background thread, and would wait for itself: call from another",
            ));
        }
        Ok(())
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, Outcome::MayHave)
        .with_message("the background thread has ended, or the work on it panicked")
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background")
            .field("thread", &self.0.thread)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_is_told_instead_of_waiting_for_ever() {
        let mut background = Background::start().unwrap();
        assert!(background.wait(async { Ok(()) }).is_ok());
        let shared = Arc::get_mut(&mut background.0).unwrap();
        shared.birth = Birth::elsewhere();
        let error = background.wait(async { Ok(()) }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongState);
        let within = background.wait_within(Duration::from_secs(1), async {});
        assert_eq!(within.unwrap_err().kind(), ErrorKind::WrongState);
    }
}
