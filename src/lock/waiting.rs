//! The way to a guard: through the local line, then through the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::estate::{Estate, Seat, Tenant};
use super::guard::LockGuard;
use super::hub::Lock;
use super::queue::{Competitor, Place};
use crate::backend::{Backend, LeaseBound};
use crate::engine::{Finish, Mode, Notice, Quiescer, Tenure};
use crate::error::{Error, ErrorKind, LossCause, Outcome, Result};
use crate::model::LeaseTerms;

/// A task in the local line.
#[derive(Debug)]
pub(super) struct Waiter {
    id: String,
}

impl Waiter {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed).to_string(),
        }
    }
}

impl Competitor for Waiter {
    fn holder_id(&self) -> &str {
        &self.id
    }
}

/// What the store has said so far to one who waits.
#[derive(Debug, Default)]
pub(super) struct Progress {
    asked: bool,
    answered: bool,
    trouble: Option<Error>,
    /// Told of the first word.
    heard: Arc<Notify>,
}

impl Progress {
    /// What tells when the store has said something, while it has been asked
    /// and has not.
    pub(super) fn first_word(&self) -> Option<Arc<Notify>> {
        let is_owed = self.asked && !self.answered && self.trouble.is_none();
        is_owed.then(|| Arc::clone(&self.heard))
    }

    /// Why it never answered, if it never did.
    pub(super) fn into_error(self) -> Option<Error> {
        self.trouble.filter(|_| !self.answered)
    }
}

pub(super) type Shared = Arc<Mutex<Progress>>;

impl Lock {
    /// From the line to the guard; `None` when another owns and `mode` does
    /// not wait.
    pub(super) async fn compete(
        &self,
        mut place: Place<Waiter, Estate>,
        mode: Mode,
        progress: &Shared,
    ) -> Result<Option<LockGuard>> {
        place.head().await;
        if let Some(estate) = place.inherit()
            && let Some(estate) = self.take_over(estate)
        {
            place.won();
            return Ok(Some(LockGuard::new(self.clone(), estate, place)));
        }
        loop {
            match self.contend(mode, progress).await? {
                // A guard that went back or ran out while nobody looked is
                // none. Our own old grant must not stand in our way.
                Some(estate) if !estate.tenure.pick_up() || estate.tenure.is_lost() => {
                    let _ = estate.give_back(None).await;
                }
                Some(estate) => {
                    place.won();
                    return Ok(Some(LockGuard::new(self.clone(), estate, place)));
                }
                None => return Ok(None),
            }
        }
    }

    /// The estate under the next token, if it is still worth having.
    fn take_over(&self, mut estate: Estate) -> Option<Estate> {
        let limit = self
            .options()
            .max_hold
            .map(|hold| self.engine().clock().now() + hold);
        estate.tenure = estate.tenure.succeeded_by(limit)?;
        // Who shares a fence needs a number of its own.
        let is_ours = estate.tenure.pick_up()
            && estate.terms == self.terms()
            && !estate.tenure.is_lost()
            && !self.options().shares_fence;
        is_ours.then_some(estate)
    }

    pub(super) fn terms(&self) -> LeaseTerms {
        match self.engine().backend().profile().bound {
            LeaseBound::Session(terms) => terms,
            LeaseBound::Terms => self
                .options()
                .terms
                .unwrap_or(self.engine().settings().terms),
        }
    }

    async fn contend(&self, mode: Mode, progress: &Shared) -> Result<Option<Estate>> {
        let engine = self.engine();
        engine.check_open()?;
        let mut plan = engine.plan(self.name().clone(), self.new_id()?, mode);
        plan.terms = self.terms();
        plan.unique_id = self.has_unique_ids();
        plan.shares_fence = self.options().shares_fence;
        // A guard ends where it is dropped; there is nothing to wait for.
        plan.quiesce = Duration::ZERO;
        plan.initial_delay = self.rest();
        plan.safety_look = self.safety_look().unwrap_or(plan.safety_look);
        let (begin, mut began) = oneshot::channel();
        let (finish, mut finished) = oneshot::channel();
        let seat = Arc::<Seat>::default();
        let terms = plan.terms;
        let sink = sink(begin, finish, Arc::clone(&seat), Arc::clone(progress));
        lock(progress).asked = true;
        let tenant = Tenant(engine.contend(plan, false, sink));
        let end = tokio::select! {
            biased;
            Ok((tenure, quiescer)) = &mut began => {
                let now = engine.clock().now();
                let limit = self.options().max_hold.map(|hold| now + hold);
                let tenure = tenure.limited(limit);
                return Ok(Some(Estate { tenure, terms, granted_at: now, finished, seat, tenant, quiescer }));
            }
            end = &mut finished => end,
        };
        match end {
            Ok(Finish::Failed(error)) => Err(error.with_mutex(self.name())),
            // The coordinator was closed while we waited; otherwise the one
            // attempt was refused.
            Ok(_) => engine.check_open().map(|()| None),
            // Not even a last word: nobody carries out anything any more.
            Err(_) => Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
                .with_message("the runtime that the coordinator lives on has ended")
                .with_mutex(self.name())),
        }
    }
}

fn sink(
    begin: oneshot::Sender<(Tenure, Quiescer)>,
    finish: oneshot::Sender<Finish>,
    seat: Arc<Seat>,
    progress: Shared,
) -> Box<dyn FnMut(Notice) + Send> {
    let (mut begin, mut finish) = (Some(begin), Some(finish));
    Box::new(move |notice| match notice {
        Notice::Began(tenure, _, quiescer) => {
            // The acquirer has gone: the contention is being dropped as well.
            let _ = begin.take().map(|begin| begin.send((tenure, quiescer)));
        }
        // A guard ends by being dropped; only the coordinator's close does
        // not wait for that.
        Notice::Quiesce(LossCause::Closed, done) => done.quiesced(),
        Notice::Quiesce(LossCause::Released, _) => {}
        Notice::Quiesce(..) => seat.close(),
        Notice::Observed(..) => {
            let mut progress = lock(&progress);
            progress.answered = true;
            progress.heard.notify_one();
        }
        Notice::Trouble(error) => {
            tracing::debug!(target: "tenure::lock", "will try again: {error}");
            let mut progress = lock(&progress);
            progress.trouble = Some(error);
            progress.heard.notify_one();
        }
        Notice::Finished(end) => {
            // In this order: whoever is told that the lock is free finds it so.
            seat.close();
            let _ = finish.take().map(|finish| finish.send(end));
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
