//! [`LockGuard`]: ownership for as long as it lives.

use std::fmt;
use std::time::Duration;

use super::hand_over::{GivingBack, GrantSource, LocalGrant};
use super::local_queue::WaiterPlace;
use super::lock::Lock;
use super::of_tenure::says_its_tenure;
use super::word::End;
use crate::clock::Moment;
use crate::engine::{Finish, Tenure};
use crate::error::{Error, ErrorKind, LossCause, Outcome, Result};

/// Ownership of a [`Lock`]'s mutex. Renewed in the background while it lives;
/// dropped, it is given back in the background.
///
/// It has no access to what the lock protects: a lock cannot keep another
/// process from anything. Check [`token`](Self::token) before each
/// effect and let the resource refuse old tokens.
#[must_use = "dropping a guard releases the lock"]
pub struct LockGuard {
    lock: Lock,
    tenure: Tenure,
    /// Where its grant goes back to, until it is let go.
    source: Option<GrantSource>,
    /// Not let go before.
    kept_until: Option<Moment>,
}

impl LockGuard {
    pub(super) fn new(lock: Lock, grant: LocalGrant, place: WaiterPlace) -> Self {
        let LocalGrant { tenure, source } = grant;
        // At the limit renewal must stop as well, guard or no guard.
        source.contention.watch_limit(&tenure);
        source.word.place.keep(place);
        let least = lock.options().at_least_for;
        Self {
            kept_until: least.map(|least| lock.engine().clock().now() + least),
            lock,
            tenure,
            source: Some(source),
        }
    }

    /// It may be let go at once, whatever the options say: nothing was done.
    pub(super) fn keep_no_longer(&mut self) {
        self.kept_until = None;
    }

    /// Waits until `until`, while there is anything to keep.
    async fn keep(&self, until: Moment) {
        let engine = self.lock.engine();
        tokio::select! {
            () = engine.clock().sleep_until(until) => {}
            _ = self.tenure.lost() => {}
            () = engine.closing() => {}
        }
    }

    pub(super) fn lock(&self) -> &Lock {
        &self.lock
    }

    says_its_tenure!();

    /// Gives the lock back and waits for the store's word. The guard is dead
    /// at once, whatever the store does; of a lock that is held
    /// [for at least a time](super::LockOptions::with_at_least_for), when that time
    /// is over.
    ///
    /// # Errors
    /// [`Lost`](ErrorKind::Lost) when ownership had ended before: what was
    /// done last may have been done by two. [`Unconfirmed`](ErrorKind::Unconfirmed)
    /// when the lease ran out before the store answered.
    ///
    /// # Cancel safety
    /// Dropped, the release goes on in the background.
    pub async fn release(mut self) -> Result<()> {
        if let Some(until) = self.kept_until {
            self.keep(until).await;
            self.keep_no_longer();
        }
        let seen = self.tenure.look();
        let lost = seen.is_none().then(|| self.tenure.loss());
        let giving_back = self.let_go(seen);
        if let Some(lost) = lost {
            return Err(lost.into());
        }
        let Some(giving_back) = giving_back else {
            return Ok(());
        };
        let now = seen.map(|(_, now)| now);
        match giving_back.finish(now).await {
            End::Finished(Finish::Released) => Ok(()),
            End::Finished(Finish::Lost(cause)) => Err(self.tenure.lost_by(cause).into()),
            _ => Err(Error::new(ErrorKind::Unconfirmed, Outcome::MayHave)
                .with_message("the lease ran out before the store confirmed the release")
                .with_mutex(self.tenure.mutex())),
        }
    }

    /// Hands the grant over, or gives it back. `seen` is what a
    /// [look](Tenure::look) at it has just shown.
    #[inline]
    fn let_go(&mut self, seen: Option<(Duration, Moment)>) -> Option<GivingBack> {
        let grant = LocalGrant {
            source: self.source.take()?,
            tenure: self.tenure.clone(),
        };
        // What is lost is not ours to hand over. One question and one answer:
        // the engine may see the limit of this guard pass at any moment, and
        // would end what the next owner holds by then.
        let seen = seen.filter(|_| self.tenure.end(LossCause::Released));
        let Some(place) = grant.source.word.place.take() else {
            return Some(grant.give_back(None));
        };
        let Some((left, now)) = seen else {
            return Some(grant.give_back(Some(place)));
        };
        let (mut place, mut grant) = (place, grant);
        let mut is_alone = !place.has_successor();
        if is_alone && let Some(until) = grant.may_linger_until(&self.lock, left, now) {
            grant.tenure.put_down(now);
            let (lock, engine) = (&self.lock, self.lock.engine());
            // Back again: a task has just come.
            (place, grant) = lock.queue().linger(engine, place, grant, until)?;
            is_alone = !place.has_successor();
        }
        if is_alone || !grant.may_be_handed_over(&self.lock, left, now) {
            return Some(grant.give_back(Some(place)));
        }
        grant.tenure.put_down(now);
        let (place, grant) = place.hand_over(grant).err()?;
        Some(grant.give_back(Some(place)))
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(until) = self.kept_until.take()
            && self.source.is_some()
        {
            // Without a time of its own: where nothing runs any more, it is
            // dropped at once, and let go.
            let rest = Self {
                lock: self.lock.clone(),
                tenure: self.tenure.clone(),
                source: self.source.take(),
                kept_until: None,
            };
            self.lock
                .engine()
                .spawn(async move { rest.keep(until).await });
            return;
        }
        if self.source.is_some() {
            let seen = self.tenure.look();
            drop(self.let_go(seen));
        }
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuard")
            .field("tenure", &self.tenure)
            .finish_non_exhaustive()
    }
}
