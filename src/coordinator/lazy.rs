//! [`LazyCoordinator`]: a store that is reached when it is first needed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::{Coordinator, CoordinatorBuilder};
use crate::engine::{Random, backoff};
use crate::error::{Error, Result, Retry};
use crate::stores::{self, StoreOptions};
use crate::sync::Mutex;

/// A coordinator that connects when it is first used.
///
/// For programs that start before their store does. What is wrong with the URL
/// is known at once; a store that cannot be reached yet is tried again and
/// again, with growing pauses. Cheap to clone; all clones share one
/// [`Coordinator`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let lazy = Coordinator::connect_lazy("memory:")?; // no I/O
/// assert!(lazy.connected().is_none());
/// let guard = lazy.get().await?.lock("nightly-report")?.acquire().await?;
/// guard.release().await?;
/// lazy.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct LazyCoordinator(Arc<LazyParts>);

struct LazyParts {
    builder: CoordinatorBuilder,
    options: StoreOptions,
    connected: OnceLock<Coordinator>,
    /// Held by the one who connects.
    turn: tokio::sync::Mutex<()>,
    trouble: Mutex<Option<Error>>,
    closing: CancellationToken,
}

impl LazyCoordinator {
    pub(super) fn new(builder: CoordinatorBuilder, options: StoreOptions) -> Result<Self> {
        options.url()?.options().terms()?;
        stores::check(&options)?;
        Ok(Self(Arc::new(LazyParts {
            builder,
            options,
            connected: OnceLock::new(),
            turn: tokio::sync::Mutex::new(()),
            trouble: Mutex::default(),
            closing: CancellationToken::new(),
        })))
    }

    /// The coordinator. The first call connects, and goes on trying for as long
    /// as the store cannot be reached; callers wait for it meanwhile.
    ///
    /// # Errors
    /// What no retry can help, such as a refused password;
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    ///
    /// # Cancel safety
    /// Dropped, the attempt under way is given up; the next call tries again.
    pub async fn get(&self) -> Result<Coordinator> {
        tokio::select! {
            biased;
            () = self.0.closing.cancelled() => Err(closed()),
            connected = self.connect() => connected,
        }
    }

    /// The coordinator, if it has connected.
    #[must_use]
    pub fn connected(&self) -> Option<Coordinator> {
        self.0.connected.get().cloned()
    }

    /// Why the last attempt to connect failed, if it did.
    #[must_use]
    pub fn trouble(&self) -> Option<Error> {
        self.0.trouble.lock().clone()
    }

    /// Ends every attempt to connect, and closes the coordinator if there is
    /// one. Later calls fail with [`Closed`](crate::ErrorKind::Closed).
    ///
    /// # Errors
    /// As [`Coordinator::close`].
    ///
    /// # Cancel safety
    /// As [`Coordinator::close`].
    pub async fn close(&self) -> Result<()> {
        self.0.closing.cancel();
        // The task that connects has been told; what it has connected is closed here.
        let _turn = self.0.turn.lock().await;
        match self.0.connected.get() {
            Some(coordinator) => coordinator.close().await,
            None => Ok(()),
        }
    }

    async fn connect(&self) -> Result<Coordinator> {
        let shared = &*self.0;
        if let Some(coordinator) = shared.connected.get() {
            return Ok(coordinator.clone());
        }
        let _turn = shared.turn.lock().await;
        let mut random = Random::unseeded();
        for failures in 1.. {
            if let Some(coordinator) = shared.connected.get() {
                return Ok(coordinator.clone());
            }
            let error = match shared.builder.clone().connect(&shared.options).await {
                Ok(coordinator) => {
                    if self.0.trouble.lock().take().is_some() {
                        tracing::info!(target: "tenure::coordinator", "the store answers");
                    }
                    return Ok(shared.connected.get_or_init(|| coordinator).clone());
                }
                Err(error) => error,
            };
            let hopeless = error.retry() == Retry::Never;
            let before = self.0.trouble.lock().replace(error.clone());
            if hopeless {
                return Err(error);
            }
            if before.is_none() {
                tracing::warn!(target: "tenure::coordinator", "will try again to connect: {error}");
            }
            let clock = &shared.builder.clock;
            clock.sleep(backoff(failures, random.fraction())).await;
        }
        Err(closed())
    }
}

fn closed() -> Error {
    Error::closed("the coordinator")
}

impl fmt::Debug for LazyCoordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyCoordinator")
            .field("connected", &self.0.connected.get())
            .finish_non_exhaustive()
    }
}
