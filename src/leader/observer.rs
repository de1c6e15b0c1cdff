//! [`Observer`]: who leads, without standing.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::engine::{Engine, Notice, Observation};
use crate::model::{MutexName, MutexState};

/// A stream of the changes of owner, beginning with the present one if there
/// is one; it ends when the coordinator is closed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let mut observer = coordinator.elector("billing")?.observe()?;
/// let guard = coordinator.lock("billing")?.acquire().await?;
/// let state = observer.next().await.unwrap();
/// assert!(state.after.is_owner(guard.tenure().contender()));
/// # drop(guard);
/// # coordinator.close().await
/// # }
/// ```
pub struct Observer {
    _observation: Observation,
    name: MutexName,
    states: mpsc::UnboundedReceiver<MutexState>,
}

impl Observer {
    pub(super) fn new(engine: &Engine, name: MutexName) -> Self {
        let (tell, states) = mpsc::unbounded_channel();
        let mut last = MutexState::NONE;
        let sink = Box::new(move |notice| match notice {
            Notice::Observed(owner) => {
                let state = last.followed_by(owner);
                if state.is_changed() {
                    last = state.clone();
                    let _ = tell.send(state);
                } else {
                    last.after = state.after;
                }
            }
            Notice::Trouble(error) => {
                tracing::debug!(target: "tenure::leader", "will look again: {error}");
            }
            _ => {}
        });
        Self {
            _observation: engine.observe(name.clone(), sink),
            name,
            states,
        }
    }

    /// The next change; `None` after the coordinator has been closed.
    ///
    /// # Cancel safety
    /// Dropping it loses no change.
    pub async fn next(&mut self) -> Option<MutexState> {
        self.states.recv().await
    }
}

impl Stream for Observer {
    type Item = MutexState;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<MutexState>> {
        self.states.poll_recv(cx)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
