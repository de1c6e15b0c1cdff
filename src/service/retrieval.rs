//! [`RetrievalService`]: observes for a [`Retriever`].

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::status::StatusCell;
use super::{Retriever, Status};
use crate::engine::{Dispatch, Engine, Notice, Observation};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::MutexState;
use crate::sync::Mutex;

/// Tells a [`Retriever`] who owns its mutex. It never contends.
///
/// Dropping it stops it.
pub struct RetrievalService<R: Retriever> {
    parts: Arc<RetrievalParts<R>>,
}

struct RetrievalParts<R> {
    engine: Engine,
    retriever: R,
    status: StatusCell,
    dispatch: Dispatch,
    view: Mutex<RetrievalView>,
}

struct RetrievalView {
    life: u64,
    state: MutexState,
    observation: Option<Observation>,
}

impl<R: Retriever> RetrievalService<R> {
    pub(crate) fn new(engine: Engine, retriever: R) -> Self {
        let dispatch = engine.dispatch();
        let view = Mutex::new(RetrievalView {
            life: 0,
            state: MutexState::NONE,
            observation: None,
        });
        let status = StatusCell::new();
        Self {
            parts: Arc::new(RetrievalParts {
                engine,
                retriever,
                status,
                dispatch,
                view,
            }),
        }
    }

    /// Starts to observe. Returns at once; the callback tells the rest.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) unless the service is
    /// [`Initial`](Status::Initial), [`Closed`](ErrorKind::Closed) after the
    /// coordinator has been closed; the service is then `Initial`.
    pub fn start(&self) -> Result<()> {
        let parts = &self.parts;
        parts.status.change(Status::Initial, Status::Starting)?;
        if let Err(closed) = parts.engine.check_open() {
            parts.status.set(Status::Initial);
            return Err(closed);
        }
        let mut view = parts.view.lock();
        view.life += 1;
        view.state = MutexState::NONE;
        let life = view.life;
        let sink_parts = Arc::clone(parts);
        let sink = move |notice| sink_parts.hear(life, notice);
        parts.status.set(Status::Running);
        view.observation = Some(
            parts
                .engine
                .observe(parts.retriever.mutex().clone(), Box::new(sink)),
        );
        Ok(())
    }

    /// Stops: no callback begins any more, and the one that runs returns.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) unless it is
    /// [`Running`](Status::Running); [`Unconfirmed`](ErrorKind::Unconfirmed)
    /// when the callback that runs has not returned in time.
    ///
    /// # Cancel safety
    /// Dropped, the service is stopped all the same.
    pub async fn stop(&self) -> Result<()> {
        let parts = &self.parts;
        parts.status.change(Status::Running, Status::Stopping)?;
        let (tell, told) = oneshot::channel();
        {
            let mut view = parts.view.lock();
            view.observation = None;
            view.life += 1;
            parts.dispatch.push(move || {
                let _ = tell.send(());
            });
            parts.status.set(Status::Initial);
        }
        let clock = parts.engine.clock();
        let until = clock.now() + parts.engine.settings().quiesce;
        match clock.limit(until, told).await {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::Unconfirmed, Outcome::Did)
                .with_message("the observation has ended, but a callback of it still runs")
                .with_mutex(parts.retriever.mutex())),
        }
    }

    /// The retriever.
    #[must_use]
    pub fn retriever(&self) -> &R {
        &self.parts.retriever
    }

    /// Where in its life the service is.
    #[must_use]
    pub fn status(&self) -> Status {
        self.parts.status.get()
    }

    /// Whether it is starting or running.
    #[must_use]
    pub fn running(&self) -> bool {
        self.status().is_active()
    }

    /// The last transition it saw; [`MutexState::NONE`] at each start.
    #[must_use]
    pub fn state(&self) -> MutexState {
        self.parts.view.lock().state.clone()
    }
}

impl<R: Retriever> RetrievalParts<R> {
    /// Hears the engine: quick, no foreign code.
    fn hear(self: &Arc<Self>, life: u64, notice: Notice) {
        let owner = match notice {
            Notice::Observed(owner) => owner,
            Notice::Trouble(error) => {
                let source = std::error::Error::source(&error).map(tracing::field::display);
                tracing::debug!(target: "tenure::service", source, "will look again: {error}");
                return;
            }
            _ => return,
        };
        let state = {
            let mut view = self.view.lock();
            let state = view.state.followed_by(owner);
            if !state.is_changed() {
                view.state.after = state.after;
                return;
            }
            view.state = state.clone();
            state
        };
        let parts = Arc::clone(self);
        self.dispatch.push(move || {
            if parts.view.lock().life == life {
                parts.retriever.notify_owner(&state);
            }
        });
    }
}

impl<R: Retriever> Drop for RetrievalService<R> {
    fn drop(&mut self) {
        let mut view = self.parts.view.lock();
        view.observation = None;
        view.life += 1;
    }
}

impl<R: Retriever> fmt::Debug for RetrievalService<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetrievalService")
            .field("mutex", self.parts.retriever.mutex())
            .field("status", &self.parts.status)
            .finish_non_exhaustive()
    }
}
