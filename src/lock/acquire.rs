//! [`Acquisition`]: the way to one guard, through the local queue and then
//! through the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::guard::LockGuard;
use super::hand_over::{LocalGrant, OwnerPlace};
use super::local_queue::WaiterPlace;
use super::lock::Lock;
use crate::engine::{Finish, Mode, Notice, Quiescer, Tenure};
use crate::error::{Error, ErrorKind, LossCause, Outcome, Result};

/// One acquisition of a lock.
#[derive(Debug)]
pub(super) struct Acquisition<'a> {
    lock: &'a Lock,
    mode: Mode,
    heard: watch::Sender<Heard>,
}

/// What the store has said so far.
#[derive(Debug)]
enum Heard {
    NotAsked,
    /// Asked, and no word yet.
    Nothing,
    Trouble(Error),
    Answer,
}

impl<'a> Acquisition<'a> {
    pub(super) fn new(lock: &'a Lock, mode: Mode) -> Self {
        let heard = watch::Sender::new(Heard::NotAsked);
        Self { lock, mode, heard }
    }

    /// From a place in the queue to the guard; `None` when another owns and the
    /// mode does not wait.
    pub(super) async fn run(&self, mut place: WaiterPlace) -> Result<Option<LockGuard>> {
        let lock = self.lock;
        place.head().await;
        if let Some(grant) = place.take_over()
            && let Some(grant) = grant.taken_over(lock)
        {
            place.won();
            return Ok(Some(LockGuard::new(lock.clone(), grant, place)));
        }
        loop {
            match self.contend().await? {
                // A grant that went back or ran out before its waiter was
                // polled is none. Our own old grant must not stand in our way.
                Some(grant) if !grant.tenure.pick_up() || grant.tenure.is_lost() => {
                    let _ = grant.give_back(None).await;
                }
                Some(grant) => {
                    place.won();
                    return Ok(Some(LockGuard::new(lock.clone(), grant, place)));
                }
                None => return Ok(None),
            }
        }
    }

    async fn contend(&self) -> Result<Option<LocalGrant>> {
        let (lock, engine) = (self.lock, self.lock.engine());
        engine.check_open()?;
        let mut settings =
            engine.contention_settings(lock.name().clone(), lock.new_id()?, self.mode);
        settings.terms = lock.terms();
        settings.unique_id = lock.has_unique_ids();
        settings.shares_fence = lock.options().shares_fence;
        // A guard ends where it is dropped; there is nothing to wait for.
        settings.quiesce = Duration::ZERO;
        settings.initial_delay = lock.queue().others_first(engine.clock().now());
        settings.safety_look = lock.safety_look().unwrap_or(settings.safety_look);
        let (begin, mut began) = oneshot::channel();
        let (finish, mut finished) = oneshot::channel();
        let place = Arc::<OwnerPlace>::default();
        let terms = settings.terms;
        let sink = sink(begin, finish, Arc::clone(&place), self.heard.clone());
        hear(&self.heard, Heard::Nothing);
        let contention = engine
            .contend(settings, false, sink)
            .abandoned_when_dropped();
        let end = tokio::select! {
            biased;
            Ok((tenure, quiescer)) = &mut began => {
                let granted_at = engine.clock().now();
                let tenure = tenure.limited(lock.hold_limit());
                return Ok(Some(LocalGrant { tenure, terms, granted_at, finished, place, contention, quiescer }));
            }
            end = &mut finished => end,
        };
        match end {
            Ok(Finish::Failed(error)) => Err(error.with_mutex(lock.name())),
            // The coordinator was closed while we waited; otherwise the one
            // attempt was refused.
            Ok(_) => engine.check_open().map(|()| None),
            // Not even a last word: the engine's tasks have ended.
            Err(_) => Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
                .with_message("the runtime that the coordinator lives on has ended")
                .with_mutex(lock.name())),
        }
    }

    /// Whether the store has been asked and has not said anything.
    pub(super) fn awaits_first_word(&self) -> bool {
        matches!(*self.heard.borrow(), Heard::Nothing)
    }

    /// Returns when the store has said something.
    pub(super) async fn first_word(&self) {
        let mut heard = self.heard.subscribe();
        let _ = heard
            .wait_for(|heard| !matches!(heard, Heard::Nothing))
            .await;
    }

    /// Why the store never answered, if it never did.
    pub(super) fn trouble(&self) -> Option<Error> {
        match self.heard.send_replace(Heard::NotAsked) {
            Heard::Trouble(error) => Some(error),
            Heard::NotAsked | Heard::Nothing | Heard::Answer => None,
        }
    }
}

/// Takes note of `word`. An answer is not forgotten over later trouble, nor
/// either of them when the store is asked again.
fn hear(heard: &watch::Sender<Heard>, word: Heard) {
    heard.send_if_modified(|heard| {
        let is_news = match &word {
            Heard::NotAsked | Heard::Nothing => matches!(heard, Heard::NotAsked),
            Heard::Trouble(_) | Heard::Answer => !matches!(heard, Heard::Answer),
        };
        if is_news {
            *heard = word;
        }
        is_news
    });
}

fn sink(
    begin: oneshot::Sender<(Tenure, Quiescer)>,
    finish: oneshot::Sender<Finish>,
    place: Arc<OwnerPlace>,
    heard: watch::Sender<Heard>,
) -> Box<dyn FnMut(Notice) + Send> {
    let (mut begin, mut finish) = (Some(begin), Some(finish));
    Box::new(move |notice| match notice {
        Notice::Began(tenure, _, quiescer) => {
            // The waiter has gone: the contention is being dropped as well.
            let _ = begin.take().map(|begin| begin.send((tenure, quiescer)));
        }
        // A guard ends by being dropped; only the coordinator's close does
        // not wait for that.
        Notice::Quiesce(LossCause::Closed, done) => done.quiesced(),
        Notice::Quiesce(LossCause::Released, _) => {}
        Notice::Quiesce(..) => place.leave(),
        Notice::Observed(..) => hear(&heard, Heard::Answer),
        Notice::Trouble(error) => {
            tracing::debug!(target: "tenure::lock", "will try again: {error}");
            hear(&heard, Heard::Trouble(error));
        }
        Notice::Finished(end) => {
            // In this order: a task that is told that the lock is free finds
            // it so.
            place.leave();
            let _ = finish.take().map(|finish| finish.send(end));
        }
    })
}
