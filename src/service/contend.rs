//! [`ContendService`]: contends for a [`Contender`] for as long as it runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::status::StatusCell;
use super::{Contender, Status};
use crate::engine::{Contention, Dispatch, Engine, Finish, Mode, Notice, Tenure};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{MutexOwner, MutexState, Purpose};
use crate::sync::Mutex;

/// Contends for the mutex of a [`Contender`] and calls it at every change.
///
/// Dropping it stops it in the background.
pub struct ContendService<C: Contender> {
    parts: Arc<ContendParts<C>>,
}

struct ContendParts<C> {
    engine: Engine,
    contender: C,
    status: StatusCell,
    dispatch: Dispatch,
    view: Mutex<ContendView>,
    /// The end of the life with this number, and how it went.
    ended: watch::Sender<(u64, Result<()>)>,
}

struct ContendView {
    /// Counts the starts; what belongs to an earlier life is dropped.
    life: u64,
    state: MutexState,
    tenure: Option<Tenure>,
    contention: Option<Contention>,
}

impl<C: Contender> ContendService<C> {
    pub(crate) fn new(engine: Engine, contender: C) -> Self {
        let dispatch = engine.dispatch();
        let view = ContendView {
            life: 0,
            state: MutexState::NONE,
            tenure: None,
            contention: None,
        };
        Self {
            parts: Arc::new(ContendParts {
                engine,
                contender,
                status: StatusCell::new(),
                dispatch,
                view: Mutex::new(view),
                ended: watch::Sender::new((0, Ok(()))),
            }),
        }
    }

    /// Starts to contend. Returns at once; the callbacks tell the rest.
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
        view.tenure = None;
        let life = view.life;
        let (name, id) = (
            parts.contender.mutex().clone(),
            parts.contender.contender_id().clone(),
        );
        let settings = parts
            .engine
            .contention_settings(Purpose::Service, name, id, Mode::Always);
        let sink_parts = Arc::clone(parts);
        let sink = move |notice| sink_parts.hear(life, notice);
        parts.status.set(Status::Running);
        view.contention = Some(parts.engine.contend(settings, true, Box::new(sink)));
        Ok(())
    }

    /// Stops: `on_released` runs and returns if it owned, then the store is
    /// told, then the service is [`Initial`](Status::Initial) again.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) unless it is
    /// [`Running`](Status::Running). [`Unconfirmed`](ErrorKind::Unconfirmed)
    /// when a callback has not returned in time, so that nothing was released,
    /// or when the store did not confirm the release before the lease ran out.
    ///
    /// # Cancel safety
    /// Dropped, the stopping goes on in the background.
    pub async fn stop(&self) -> Result<()> {
        self.parts
            .status
            .change(Status::Running, Status::Stopping)?;
        let mut ended = self.parts.ended.subscribe();
        let life = {
            let mut view = self.parts.view.lock();
            view.contention = None; // its drop stops it
            view.life
        };
        let end = ended.wait_for(|(ended, _)| *ended == life).await;
        end.map_or_else(
            |_| unreachable!("the sender lives in self"),
            |end| end.1.clone(),
        )
    }

    /// The contender.
    #[must_use]
    pub fn contender(&self) -> &C {
        &self.parts.contender
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

    /// The present tenure, while it lasts.
    #[must_use]
    pub fn tenure(&self) -> Option<Tenure> {
        self.parts
            .view
            .lock()
            .tenure
            .clone()
            .filter(|tenure| !tenure.is_lost())
    }

    /// Whether the contender owns the mutex at this moment.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.tenure().is_some()
    }

    /// Whether it owns the mutex and need not fear for its renewal yet.
    #[must_use]
    pub fn is_in_ttl(&self) -> bool {
        let terms = self.parts.engine.terms();
        let transition = terms.transition().saturating_sub(terms.margin());
        self.tenure()
            .is_some_and(|tenure| tenure.remaining() > transition)
    }
}

impl<C: Contender> ContendParts<C> {
    /// Hears the engine: quick, no foreign code.
    fn hear(self: &Arc<Self>, life: u64, notice: Notice) {
        match notice {
            Notice::Began(tenure, owner, _) => {
                // Callbacks come in any case: a service always has it in hand.
                tenure.pick_up();
                self.view.lock().tenure = Some(tenure);
                self.changed(life, owner, None);
            }
            Notice::Quiesce(_, done) => {
                let told: Box<dyn FnOnce() + Send> = Box::new(move || done.quiesced());
                self.changed(life, MutexOwner::NONE, Some(told));
            }
            // An owner with our id that is not our tenure: an earlier life of
            // this id, or a twin. The contender is not told of it.
            Notice::Observed(owner) if owner.is_owner(self.contender.contender_id()) => {}
            Notice::Observed(owner) => self.changed(life, owner, None),
            Notice::Trouble(error) => {
                let source = std::error::Error::source(&error).map(tracing::field::display);
                tracing::debug!(target: "tenure::service", source, "will try again: {error}");
            }
            Notice::Finished(finish) => {
                {
                    let mut view = self.view.lock();
                    view.tenure = None;
                    view.contention = None;
                    self.status.set(Status::Initial);
                }
                let _before = self.ended.send_replace((life, ending(finish)));
            }
        }
    }

    /// Takes note of the owner and tells the contender, then `told`.
    fn changed(
        self: &Arc<Self>,
        life: u64,
        owner: MutexOwner,
        told: Option<Box<dyn FnOnce() + Send>>,
    ) {
        let state = {
            let mut view = self.view.lock();
            let state = view.state.followed_by(owner);
            if !state.is_changed() && told.is_none() {
                view.state.after = state.after;
                return;
            }
            view.state = state.clone();
            state
        };
        // Its own begin and end it hears in pairs, however late; what others
        // do is no news once it is stopping.
        let id = self.contender.contender_id();
        let must_hear = state.is_acquired(id) || state.is_released(id);
        let parts = Arc::clone(self);
        self.dispatch.push(move || {
            // Answered even if the callback panics.
            let _told = told.map(CallOnDrop);
            let is_present = parts.view.lock().life == life;
            if is_present && (must_hear || parts.status.get() == Status::Running) {
                parts.contender.notify_owner(&state);
            }
        });
    }
}

struct CallOnDrop(#[allow(clippy::type_complexity)] Box<dyn FnOnce() + Send>);

impl Drop for CallOnDrop {
    fn drop(&mut self) {
        std::mem::replace(&mut self.0, Box::new(|| {}))();
    }
}

/// What `stop` says of how the contention ended.
fn ending(finish: Finish) -> Result<()> {
    let unconfirmed =
        |message| Err(Error::new(ErrorKind::Unconfirmed, Outcome::MayHave).with_message(message));
    match finish {
        Finish::StillRunning => unconfirmed(
            "a callback still runs, so nothing was released: the lease runs out by itself",
        ),
        Finish::Unconfirmed => {
            unconfirmed("the store did not confirm the release before the lease ran out")
        }
        Finish::Failed(error) => Err(error),
        Finish::NotOwner | Finish::Released | Finish::Lost(_) => Ok(()),
    }
}

impl<C: Contender> Drop for ContendService<C> {
    fn drop(&mut self) {
        let contention = self.parts.view.lock().contention.take();
        if contention.is_some() {
            let _ = self.parts.status.change(Status::Running, Status::Stopping);
        }
    }
}

impl<C: Contender> fmt::Debug for ContendService<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContendService")
            .field("mutex", self.parts.contender.mutex())
            .field("contender", self.parts.contender.contender_id())
            .field("status", &self.parts.status)
            .finish_non_exhaustive()
    }
}
