//! [`LocalGrant`]: a grant of the store, on its way from guard to guard of this
//! process.

use std::sync::Arc;
use std::time::Duration;

use super::local_queue::WaiterPlace;
use super::lock::Lock;
use super::word::{End, Word};
use crate::clock::Moment;
use crate::engine::{Contention, Tenure};
use crate::error::LossCause;
use crate::model::LeaseTerms;
use crate::sync::Mutex;

/// What the store has granted to a lock of this process. An owner hands it over
/// to the next waiter, within bounds, or gives it back; dropped, it is given
/// back too.
#[derive(Debug)]
pub(super) struct LocalGrant {
    /// The tenure of the present or last guard.
    pub(super) tenure: Tenure,
    pub(super) source: GrantSource,
}

/// Where a grant comes from, and goes back to.
#[derive(Debug)]
pub(super) struct GrantSource {
    pub(super) contention: Contention,
    pub(super) word: Arc<Word>,
}

impl LocalGrant {
    /// Whether its owner may hand it over without the store, with so much of the
    /// lease `left` at `now`. When the turn of this process is over, its next
    /// bid comes later.
    pub(super) fn may_be_handed_over(&self, lock: &Lock, left: Duration, now: Moment) -> bool {
        let (engine, options) = (lock.engine(), lock.options());
        let age = now.since(self.tenure.granted_at());
        let times = self.tenure.own_token().hand_over();
        let within = !options.shares_fence && options.hand_over.allows(times, age);
        if !within {
            lock.queue().let_others_first(now + engine.courtesy());
        }
        within && self.is_worth_having(left)
    }

    /// Until when it may be left behind without the store, for a task that may
    /// come, with so much of the lease `left` at `now`; `None` when it goes back
    /// at once.
    pub(super) fn may_linger_until(
        &self,
        lock: &Lock,
        left: Duration,
        now: Moment,
    ) -> Option<Moment> {
        let (engine, options) = (lock.engine(), lock.options());
        let linger = options.linger.filter(|_| !options.shares_fence)?;
        let until = now + linger;
        let times = self.tenure.own_token().hand_over();
        if !options
            .hand_over
            .allows(times, until.since(self.tenure.granted_at()))
        {
            if times > 0 {
                // This process has had it for its turn.
                lock.queue().let_others_first(now + engine.courtesy());
            }
            return None;
        }
        // Where another stood in the way, others may wait now.
        let is_wanted_elsewhere = self.source.word.was_refused();
        let lingers = !is_wanted_elsewhere && self.is_worth_having(left.saturating_sub(linger));
        lingers.then_some(until)
    }

    fn terms(&self) -> &LeaseTerms {
        self.tenure.terms()
    }

    /// One that is about to end is not: its renewal is late.
    fn is_worth_having(&self, left: Duration) -> bool {
        let terms = self.terms();
        let enough = (terms.transition() / 2).max(terms.lease() / 8);
        left > enough
    }

    /// The same under the next token, for a waiter of `lock`; whether that is
    /// so. Otherwise it is not worth having any more, and must go back before
    /// the store is asked.
    pub(super) fn take_over(&mut self, lock: &Lock) -> bool {
        let Some(next) = self.tenure.succeeded_by(lock.hold_limit()) else {
            return false;
        };
        self.tenure = next;
        // Who shares a fence needs a number of its own.
        self.tenure.pick_up()
            && *self.terms() == lock.terms()
            && !self.tenure.is_lost()
            && !lock.options().shares_fence
    }

    /// Gives it back to the store. The owner's place in the queue is kept until
    /// the store has answered: the next waiter could only be refused before.
    #[inline]
    pub(super) fn give_back(self, place: Option<WaiterPlace>) -> GivingBack {
        self.tenure.end(LossCause::Released);
        if let Some(place) = place {
            self.source.word.place.keep(place);
        }
        GivingBack(self.source)
    }
}

/// A grant that goes back to the store; dropped, in the background.
#[derive(Debug)]
#[must_use = "dropped, it goes on in the background"]
pub(super) struct GivingBack(GrantSource);

impl GivingBack {
    /// Waits for the store, and says how that went. `now` is of one who has just
    /// read the clock.
    pub(super) async fn finish(self, now: Option<Moment>) -> End {
        let GrantSource { contention, word } = self.0;
        contention.abandon_here(now).await;
        word.end().await
    }
}

/// The place in the local queue of the guard that owns, within reach of the
/// engine: a guard that is lost bars the others of its process no more than
/// those of another.
#[derive(Debug, Default)]
pub(super) struct OwnerPlace(Mutex<KeptPlace>);

#[derive(Debug, Default)]
struct KeptPlace {
    /// None while the grant is on its way from one guard to the next.
    place: Option<WaiterPlace>,
    is_over: bool,
}

impl OwnerPlace {
    /// Keeps `place` in the queue while the grant lasts.
    #[inline]
    pub(super) fn keep(&self, place: WaiterPlace) {
        let mut kept = self.0.lock();
        let left = if kept.is_over {
            Some(place)
        } else {
            kept.place.replace(place)
        };
        // A place is left outside of the mutex: the next waiter is told.
        drop(kept);
        drop(left);
    }

    /// The place, if the grant is not over.
    pub(super) fn take(&self) -> Option<WaiterPlace> {
        self.0.lock().place.take()
    }

    /// The grant is over: the owner leaves the queue.
    #[inline]
    pub(super) fn leave(&self) {
        let mut kept = self.0.lock();
        kept.is_over = true;
        let left = kept.place.take();
        drop(kept);
        drop(left);
    }
}
