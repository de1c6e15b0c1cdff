//! [`Tenure`]: one continuous period of ownership.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::birth::Birth;
use super::event::GivenBack;
use super::in_hand::patience;
use super::lease::Lease;
use super::said_once::SaidOnce;
use super::store_clock::ClockReading;
use crate::backend::{Bid, Held, Nonce};
use crate::clock::{Clock, Moment, Sight};
use crate::error::{LeaseLost, LossCause};
use crate::model::{ContenderId, FencingToken, LeaseTerms, MutexName, StoreTime};

/// A view of one period of ownership: a token, a deadline, a signal of loss.
///
/// Cheap to clone; a clone cannot end or prolong it. Ownership ends by the
/// local clock: once the deadline has passed without a confirmed renewal,
/// [`token`](Self::token) fails and [`lost`](Self::lost) returns, whatever the
/// network, the store or the engine's own tasks do. What is lost stays lost.
///
/// The loss signal cannot stop work that does not look. Check
/// [`token`](Self::token) before every effect and give it to the resource.
#[derive(Clone)]
pub struct Tenure {
    lease: Arc<Lease>,
    /// None for the first holder without a limit: its end is in the lease.
    own_end: Option<Arc<OwnEnd>>,
    token: FencingToken,
}

/// The end that a tenure has for one holder alone: a grant that is handed over
/// inside the process ends for the one and goes on for the next.
#[derive(Debug)]
pub(crate) struct OwnEnd {
    /// The longest this holder may hold, however long the lease is renewed.
    limit: Option<Moment>,
    ended: SaidOnce<LossCause>,
}

impl OwnEnd {
    /// The moment at which its holder loses it, unless that has let go before.
    pub(super) fn limit(&self) -> Option<Moment> {
        let ended = self.ended.get();
        let is_let_go = ended.is_some_and(|cause| cause != LossCause::Deadline);
        self.limit.filter(|_| !is_let_go)
    }

    /// Whether its holder has held it for too long. What was once seen to end
    /// has ended, and whose holder has let go before cannot be lost any more.
    pub(super) fn is_over(&self, lease: &Lease) -> bool {
        if self.limit().is_some_and(|limit| lease.clock.now() >= limit)
            && self.ended.say(LossCause::Deadline)
        {
            lease.changed.notify_waiters();
        }
        self.ended.get() == Some(LossCause::Deadline)
    }
}

impl Tenure {
    /// A tenure in the process of `birth`: in a fork of it, it is none.
    #[inline]
    pub(super) fn begin(
        birth: Birth,
        won: (Arc<Bid>, FencingToken),
        clock: Clock,
        deadline: Moment,
        reading: ClockReading,
        sent: Sight,
    ) -> (Self, Arc<Lease>) {
        let token = won.1;
        let lease = Arc::new(Lease::begin(birth, won, clock, deadline, reading, sent));
        let first = Self {
            lease: Arc::clone(&lease),
            own_end: None,
            token,
        };
        (first, lease)
    }

    fn held(lease: Arc<Lease>, token: FencingToken, limit: Option<Moment>) -> Self {
        let ended = SaidOnce::new();
        let own_end = Arc::new(OwnEnd { limit, ended });
        Self {
            lease,
            own_end: Some(own_end),
            token,
        }
    }

    /// The same tenure, ending for its holder at `limit` at the latest.
    pub(crate) fn limited(self, limit: Option<Moment>) -> Self {
        if limit.is_none() {
            return self;
        }
        Self::held(self.lease, self.token, limit)
    }

    /// The tenure of the next holder of the same grant, under the next token;
    /// `None` when the grant has no more tokens.
    pub(crate) fn succeeded_by(&self, limit: Option<Moment>) -> Option<Self> {
        let token = self.token.handed_on()?;
        Some(Self::held(Arc::clone(&self.lease), token, limit))
    }

    /// Ends it for this holder; the grant may live on for the next. False when
    /// it had ended for it before.
    pub(crate) fn end(&self, cause: LossCause) -> bool {
        let ends = self.own_end().say(cause);
        if ends {
            self.lease.changed.notify_waiters();
        }
        ends
    }

    /// The end that it has for this holder by a limit, if there is one.
    pub(super) fn limit(&self) -> Option<&Arc<OwnEnd>> {
        self.own_end
            .as_ref()
            .filter(|own_end| own_end.limit.is_some())
    }

    /// Why it has ended for this holder alone, if it has.
    fn own_end(&self) -> &SaidOnce<LossCause> {
        match &self.own_end {
            Some(own_end) => &own_end.ended,
            None => &self.lease.first_ended,
        }
    }

    /// Takes the grant in hand: false when it has gone back meanwhile.
    pub(crate) fn pick_up(&self) -> bool {
        self.lease.in_hand.pick_up()
    }

    /// Puts the grant down for the next holder, who has to pick it up.
    pub(crate) fn put_down(&self, now: Moment) {
        self.lease.in_hand.put_down(patience(self.terms()), now);
    }

    /// The token, whether or not ownership has ended.
    pub(crate) fn own_token(&self) -> FencingToken {
        self.token
    }

    /// When the store was heard to have granted it.
    pub(crate) fn granted_at(&self) -> Moment {
        self.lease.granted_at
    }

    /// The grant it rests on, as the store knows it.
    pub(crate) fn grant(&self) -> Held {
        self.lease.held()
    }

    /// The nonce of that.
    pub(crate) fn nonce(&self) -> Nonce {
        self.lease.bid.nonce
    }

    /// The terms of that.
    pub(crate) fn terms(&self) -> &LeaseTerms {
        &self.lease.bid.terms
    }

    /// The store's time now, as its answers to this grant tell it.
    pub(crate) fn store_now(&self) -> StoreTime {
        let now = self.lease.clock.now();
        self.lease.store_clock.lock().now(now)
    }

    /// When the store's clock will show `time`.
    pub(crate) fn moment_of(&self, time: StoreTime) -> Moment {
        self.lease.store_clock.lock().moment_of(time)
    }

    /// How long the grant lasts, for this holder or the next, and what the clock showed when that was looked at,
    /// if ownership has not ended for this holder.
    pub(crate) fn look(&self) -> Option<(Duration, Moment)> {
        let (_, now, lease_ends) = self.ends_and_now()?;
        Some((lease_ends.since(now), now))
    }

    /// The moment at which it ends if nothing is renewed, unless it has ended.
    fn deadline(&self) -> Option<Moment> {
        self.ends_and_now().map(|(deadline, ..)| deadline)
    }

    /// The same, what the clock showed, and when the lease ends, for this holder or
    /// the next.
    fn ends_and_now(&self) -> Option<(Moment, Moment, Moment)> {
        if self.own_end().is_said() {
            return None;
        }
        let (deadline, now) = self.lease.look()?;
        let Some(own_end) = self.limit() else {
            return Some((deadline, now, deadline));
        };
        if own_end.is_over(&self.lease) {
            return None;
        }
        Some((own_end.limit()?.min(deadline), now, deadline))
    }

    /// What is owned.
    #[must_use]
    pub fn mutex(&self) -> &MutexName {
        &self.lease.bid.name
    }

    /// The id that owns it.
    #[must_use]
    pub fn contender(&self) -> &ContenderId {
        &self.lease.bid.contender
    }

    /// The fencing token, if ownership has not ended at this very moment.
    ///
    /// # Errors
    /// [`LeaseLost`] when it has ended.
    pub fn token(&self) -> Result<FencingToken, LeaseLost> {
        match self.deadline() {
            Some(_) => Ok(self.token),
            None => Err(self.loss()),
        }
    }

    /// How long ownership lasts if no further renewal succeeds; zero when it
    /// has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline()
            .map_or(Duration::ZERO, |at| at.since(self.lease.clock.now()))
    }

    /// Whether ownership has ended.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.deadline().is_none()
    }

    /// Returns when ownership ends, and says why.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing; it can be called again.
    pub async fn lost(&self) -> LeaseLost {
        self.over(false).await;
        self.loss()
    }

    /// Returns when ownership has ended, or, if `or_asked`, when its end
    /// has been asked for.
    async fn over(&self, or_asked: bool) {
        loop {
            let changed = self.lease.changed.notified();
            tokio::pin!(changed);
            // Listen before looking: an end in between must not be missed.
            changed.as_mut().enable();
            if or_asked && self.lease.is_asked() {
                return;
            }
            let Some(deadline) = self.deadline() else {
                return;
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = self.lease.clock.sleep_until(deadline) => {}
                () = self.lease.clock.wall_set() => {}
            }
        }
    }

    /// Returns when a renewal has moved the end of ownership since this was
    /// *called*, for those who pass the deadline on: to another process, to a
    /// display. Call it, then read [`remaining`](Self::remaining), then wait:
    /// so no renewal is missed.
    ///
    /// # Errors
    /// [`LeaseLost`] when ownership has ended.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing; it can be called again.
    pub fn renewed(&self) -> impl Future<Output = Result<(), LeaseLost>> + Send + use<> {
        let known = self.lease.deadline.load(Ordering::Acquire);
        let tenure = self.clone();
        async move {
            let has_moved = async {
                loop {
                    let moved = tenure.lease.changed.notified();
                    tokio::pin!(moved);
                    moved.as_mut().enable();
                    if tenure.lease.deadline.load(Ordering::Acquire) != known {
                        return;
                    }
                    moved.await;
                }
            };
            tenure.while_owned(has_moved).await?;
            // The end of ownership is a move of the deadline too.
            tenure.token().map(drop)
        }
    }

    /// Whether ownership has ended, or is to end: see [`ending`](Self::ending).
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.lease.is_asked() || self.is_lost()
    }

    /// Returns when ownership is to end: the program has asked for it, by stopping
    /// the service, the scheduler or the coordinator that it belongs to, or it
    /// has been lost.
    ///
    /// After a mere asking ownership lasts on, [`token`](Self::token) is good,
    /// and the lease is renewed until its holder has let go: the holder of a
    /// lock or an office by dropping it, a run or a callback by returning. That
    /// is when the next one can own, so do what must be done, and let go soon.
    /// After the coordinator's
    /// [`quiesce`](crate::CoordinatorBuilder::quiesce) time ownership ends all
    /// the same, and no other can own before the lease has run out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::{CampaignEvent, Coordinator};
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let mut campaign = coordinator.elector("billing")?.campaign()?;
    /// let leadership = loop {
    ///     if let Some(CampaignEvent::Elected(leadership)) = campaign.next().await {
    ///         break leadership;
    ///     }
    /// };
    /// let worker = tokio::spawn(async move {
    ///     leadership.tenure().ending().await;
    ///     assert!(leadership.tenure().token().is_ok()); // still ours: tidy up
    /// }); // and dropped here
    /// # tokio::task::yield_now().await;
    /// coordinator.close().await?; // waits for the worker, and resigns
    /// # worker.await.unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it changes nothing; it can be called again.
    pub async fn ending(&self) {
        self.over(true).await;
    }

    /// Runs `work` while ownership lasts; drops it at the loss, and when
    /// the program asks for the [end](Self::ending) of ownership, so that it can
    /// be given back at once. Work that wants to end in its own time listens to
    /// [`ending`](Self::ending) and [`lost`](Self::lost) itself.
    ///
    /// Between two awaits `work` runs on: let it check
    /// [`token`](Self::token) where it matters.
    ///
    /// # Errors
    /// [`LeaseLost`] when ownership ended or was to end before `work` did, or
    /// before it began.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, LeaseLost> {
        tokio::select! {
            biased;
            () = self.ending() => Err(self.loss()),
            output = work => Ok(output),
        }
    }

    /// What `work` returns, unless ownership ends before.
    async fn while_owned<F: Future>(&self, work: F) -> Result<F::Output, LeaseLost> {
        tokio::select! {
            biased;
            lost = self.lost() => Err(lost),
            output = work => Ok(output),
        }
    }

    /// Why it has ended, of one that has.
    pub(crate) fn loss(&self) -> LeaseLost {
        // The cause is set right after the deadline; a look in between sees
        // the commonest one.
        let own = self.own_end().get();
        let cause = own
            .or(self.lease.cause.get())
            .or(self.lease.asked.get())
            .unwrap_or(LossCause::Deadline);
        self.lost_by(cause)
    }

    /// Its end by `cause`.
    pub(crate) fn lost_by(&self, cause: LossCause) -> LeaseLost {
        LeaseLost::new(self.mutex().clone(), Some(self.token), cause)
    }

    /// Returns when the store has been told of its end, or cannot be any more,
    /// and says what came of it.
    pub(crate) async fn given_back(&self) -> GivenBack {
        loop {
            let changed = self.lease.changed.notified();
            tokio::pin!(changed);
            // Listen before looking: a word in between must not be missed.
            changed.as_mut().enable();
            if let Some(given_back) = self.lease.given_back.get() {
                return given_back;
            }
            changed.await;
        }
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("mutex", &self.lease.bid.name)
            .field("contender", &self.lease.bid.contender)
            .field("token", &self.token)
            .field("remaining", &self.remaining())
            .finish()
    }
}
