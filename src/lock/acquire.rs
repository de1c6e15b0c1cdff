//! [`Acquisition`]: the way to one guard, through the local queue and then
//! through the store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::guard::LockGuard;
use super::hand_over::LocalGrant;
use super::local_queue::WaiterPlace;
use super::lock::Lock;
use super::word::{Began, End, Heard, Word};
use crate::engine::{Finish, Mode};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::Purpose;
use crate::telemetry::{Meters, Waits, story};

/// One acquisition of a lock.
#[derive(Debug)]
pub(super) struct Acquisition<'a> {
    lock: &'a Lock,
    mode: Mode,
    /// Once the store has been asked.
    word: Mutex<Option<Arc<Word>>>,
}

impl<'a> Acquisition<'a> {
    pub(super) fn new(lock: &'a Lock, mode: Mode) -> Self {
        let word = Mutex::default();
        Self { lock, mode, word }
    }

    /// From a place in the queue to the guard; `None` when another owns and the
    /// mode does not wait.
    pub(super) async fn run(&self, mut place: WaiterPlace) -> Result<Option<LockGuard>> {
        let lock = self.lock;
        let (meters, clock) = (lock.engine().meters(), lock.engine().clock());
        let meters = meters.of(Purpose::Lock, lock.name());
        let waits = Waits::begin(meters.clone());
        let since = Meters::IS_ON.then(|| clock.now());
        let waited = || since.map_or(Duration::ZERO, |since| clock.now().since(since));
        place.head().await;
        if let Some(mut grant) = place.take_over() {
            if grant.take_over(lock) {
                story::handed_on(lock.name(), grant.tenure.own_token());
                meters.handed_on();
                waits.won_after(waited);
                place.won();
                return Ok(Some(LockGuard::new(lock.clone(), grant, place)));
            }
            // Our own old grant must not stand in our way.
            grant.give_back(None).finish().await;
        }
        loop {
            match self.contend().await? {
                // A grant that went back or ran out before its waiter was
                // polled is none.
                Some(grant) if !grant.tenure.pick_up() || grant.tenure.is_lost() => {
                    grant.give_back(None).finish().await;
                }
                Some(grant) => {
                    waits.won_after(waited);
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
        let (name, id) = (lock.name().clone(), lock.new_id()?);
        let mut settings = engine.contention_settings(Purpose::Lock, name, id, self.mode);
        settings.terms = lock.terms();
        settings.unique_id = lock.has_unique_ids();
        settings.shares_fence = lock.options().shares_fence;
        // A guard ends where it is dropped; there is nothing to wait for.
        settings.quiesce = Duration::ZERO;
        settings.initial_delay = lock.queue().others_first(engine.clock().now());
        settings.safety_look = lock.safety_look().unwrap_or(settings.safety_look);
        let terms = settings.terms;
        let word = self.next_word();
        let contention = engine
            .contend_here(settings, word.clone())
            .abandoned_when_dropped();
        contention.call_here().await;
        match word.began().await {
            Began::Tenure(tenure, quiescer) => Ok(Some(LocalGrant {
                tenure: tenure.limited(lock.hold_limit()),
                terms,
                granted_at: engine.clock().now(),
                word,
                contention,
                quiescer,
            })),
            Began::Ended(End::Finished(Finish::Failed(error))) => {
                Err(error.with_mutex(lock.name()))
            }
            // The coordinator was closed while we waited; otherwise the one
            // attempt was refused.
            Began::Ended(End::Finished(_)) => engine.check_open().map(|()| None),
            Began::Ended(End::CutOff) => Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
                .with_message("the runtime that the coordinator lives on has ended")
                .with_mutex(lock.name())),
        }
    }

    /// A word for the next contention. What the store has said in the one before
    /// is not forgotten.
    fn next_word(&self) -> Arc<Word> {
        let mut word = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = word
            .as_ref()
            .map_or(Heard::Nothing, |word| word.pass_on_heard());
        Arc::clone(word.insert(Arc::new(Word::new(heard))))
    }

    fn word(&self) -> Option<Arc<Word>> {
        let word = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        word.clone()
    }

    /// Returns when the store, if it has been asked, has said something; at once
    /// when it has not been asked.
    pub(super) async fn first_word(&self) {
        if let Some(word) = self.word() {
            word.first_word().await;
        }
    }

    /// Whether the store has been asked and has not said anything.
    pub(super) fn awaits_first_word(&self) -> bool {
        self.word().is_some_and(|word| word.awaits_first_word())
    }

    /// Why the store never answered, if it never did.
    pub(super) fn trouble(&self) -> Option<Error> {
        match self.word()?.take_heard() {
            Heard::Trouble(error) => Some(error),
            Heard::Nothing | Heard::Answer => None,
        }
    }
}
