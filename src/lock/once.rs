//! [`Turn`]: work that is done once in a period, by the process that comes first.

use std::time::Duration;

use super::guard::LockGuard;
use super::lock::Lock;
use crate::backend::{
    Claim, ClaimAnswer, Held, Ledger, LedgerEntry, OtherPlan, TickEnd, TickState,
};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, StoreTime};

/// What the ledger of such work is called in place of a schedule's plan; the
/// id of who did it follows.
const PLAN: &str = "once, by ";

/// Whether work is still to be done in this period.
#[must_use = "work that is not recorded as done is repeated"]
#[derive(Debug)]
pub enum Turn {
    /// It is, by the holder of the guard.
    Ours(OpenTurn),
    /// It has been done.
    Done(DoneBefore),
}

/// What [`Lock::once_per`] comes to.
#[must_use = "dropped, the lock is given back and the work not done"]
#[derive(Debug)]
pub enum GuardedTurn {
    /// The lock is ours, and the work is ours to do and to record.
    Ours(LockGuard, OpenTurn),
    /// The work has been done, and the lock has been given back.
    Done(DoneBefore),
}

/// Work that has been done in this period.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoneBefore {
    /// When it was begun, on the store's clock. The period counts from here.
    pub begun_at: StoreTime,
    /// When it was done, on the store's clock.
    pub done_at: StoreTime,
    /// From when on it can be done again.
    pub again_at: StoreTime,
    /// Who did it.
    pub by: Box<str>,
    /// The token it was done under.
    pub token: FencingToken,
}

/// Work that is the holder's to do. Dropped without a word it was cut short,
/// and the next owner may repeat it.
#[must_use = "work that is not recorded as done is repeated"]
#[derive(Debug)]
pub struct OpenTurn {
    engine: Engine,
    held: Held,
    tick: u64,
}

impl Lock {
    /// Takes the lock, unless its work has been done in this period: then says
    /// when and by whom. The rules are those of [`LockGuard::once_per`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::Coordinator;
    /// use tenure::lock::GuardedTurn;
    ///
    /// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let lock = coordinator.lock("nightly")?;
    /// for _ in 0..2 {
    ///     match lock.once_per(DAY).await? {
    ///         GuardedTurn::Ours(guard, turn) => {
    ///             println!("the work itself, with token {}", guard.token()?);
    ///             turn.done().await?;
    ///             guard.release().await?;
    ///         }
    ///         GuardedTurn::Done(before) => println!("already done by {}", before.by),
    ///     }
    /// }
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`LockGuard::once_per`]. The lock is
    /// given back in the background then.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire). The work may be recorded as begun, and
    /// can be asked for again.
    pub async fn once_per(&self, period: Duration) -> Result<GuardedTurn> {
        let mut guard = self.acquire().await?;
        match guard.once_per(period).await {
            Ok(Turn::Ours(turn)) => Ok(GuardedTurn::Ours(guard, turn)),
            Ok(Turn::Done(before)) => {
                guard.keep_no_longer();
                // What the ledger says holds, whatever becomes of the lock.
                let _ = guard.release().await;
                Ok(GuardedTurn::Done(before))
            }
            Err(error) => {
                guard.keep_no_longer();
                Err(error)
            }
        }
    }
}

impl LockGuard {
    /// Whether the work of this lock is still to be done in this period; if
    /// so, it is now the holder's to do and to record.
    ///
    /// Work counts as done when its holder says so with [`OpenTurn::done`].
    /// What failed, was cut short or whose holder died may be repeated at
    /// once. The period counts from when the work was begun, on the store's
    /// clock, and a tenth of it is forgiven: what a timer starts every 24 h
    /// may come a little early.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::Coordinator;
    /// use tenure::lock::Turn;
    ///
    /// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let lock = coordinator.lock("nightly")?;
    /// for _ in 0..2 {
    ///     let guard = lock.acquire().await?;
    ///     match guard.once_per(DAY).await? {
    ///         Turn::Ours(turn) => {
    ///             println!("the work itself");
    ///             turn.done().await?;
    ///         }
    ///         Turn::Done(before) => println!("already done by {}", before.by),
    ///     }
    ///     guard.release().await?;
    /// }
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) when `period` is shorter than 1 ms or
    /// the store keeps no ledger, [`Conflict`](ErrorKind::Conflict) when a
    /// schedule has this name, [`Lost`](ErrorKind::Lost) when ownership has
    /// ended, and whatever kept the store from answering.
    ///
    /// # Cancel safety
    /// Dropped, the work may be recorded as begun, and can be asked for again.
    pub async fn once_per(&self, period: Duration) -> Result<Turn> {
        if period < Duration::from_millis(1) {
            let message = format!("a period must be at least 1 ms, not {period:?}");
            return Err(Error::invalid(message));
        }
        let (engine, tenure) = (self.lock().engine(), self.tenure());
        let held = tenure.grant();
        let about = |error: Error| error.with_mutex(&held.name);
        let ledger = engine.backend().needed_ledger().map_err(about)?;
        let entry = engine.call("ledger", ledger.read_ledger(&held.name)).await;
        let entry = entry.map_err(about)?;
        let now = tenure.store_now();
        if let Some(before) = entry
            .as_ref()
            .map(|entry| done(entry, period))
            .transpose()?
        {
            match before {
                Some(before) if now < before.again_at => return Ok(Turn::Done(before)),
                _ => {}
            }
        }
        let tick = entry.map_or(0, |entry| entry.last_tick + 1);
        let plan = format!("{PLAN}{}", held.contender);
        let claim = Claim::new(plan, now, tick, now)
            .replacing_plan()
            .begun_at(now);
        let answer = engine
            .call("ledger", ledger.claim_tick(&held, &claim))
            .await;
        let turn = OpenTurn {
            engine: engine.clone(),
            held: held.clone(),
            tick,
        };
        match answer.map_err(about)? {
            ClaimAnswer::Claimed => Ok(Turn::Ours(turn)),
            // Its answer was lost on the way.
            ClaimAnswer::Refused(entry) if entry.token == held.token && entry.last_tick == tick => {
                Ok(Turn::Ours(turn))
            }
            ClaimAnswer::Refused(entry) => {
                let token = entry.token;
                let message = format!("the ledger holds the token {token}, not smaller than ours");
                Err(about(Error::conflict(message)))
            }
            ClaimAnswer::NotOwner => {
                let message = "the store has given the lock to another";
                Err(about(
                    Error::new(ErrorKind::Lost, Outcome::DidNot).with_message(message),
                ))
            }
        }
    }
}

/// When the work in `entry` was done, if it was.
fn done(entry: &LedgerEntry, period: Duration) -> Result<Option<DoneBefore>> {
    let Some(by) = entry.plan.strip_prefix(PLAN) else {
        let other = OtherPlan::new(entry.plan.clone(), "once in a period");
        let message = format!("a schedule has this name: {other}; give the lock a name of its own");
        let error = Error::conflict(message);
        return Err(error.with_source(other));
    };
    let done_at = entry.finished_at.filter(|_| entry.state == TickState::Done);
    Ok(done_at.map(|done_at| DoneBefore {
        begun_at: entry.due_at,
        done_at,
        again_at: entry.due_at + (period - period / 10),
        by: by.into(),
        token: entry.token,
    }))
}

impl OpenTurn {
    /// Records that the work is done. False when another has begun it since,
    /// because ownership was lost: then it may have been done twice.
    ///
    /// # Errors
    /// What kept the store from answering for as long as a lease: the work is
    /// done, and will be repeated.
    ///
    /// # Cancel safety
    /// Dropped, it may have been recorded or not.
    pub async fn done(self) -> Result<bool> {
        self.end(true).await
    }

    /// Records that the work failed: the next owner may repeat it.
    ///
    /// # Errors
    /// As [`done`](Self::done).
    ///
    /// # Cancel safety
    /// Dropped, it may have been recorded or not.
    pub async fn failed(self) -> Result<bool> {
        self.end(false).await
    }

    async fn end(&self, done: bool) -> Result<bool> {
        let end = TickEnd::new(self.tick, done);
        let until = self.engine.clock().now() + self.engine.terms().lease();
        let mut failures = 0;
        let ledger = self.engine.backend().needed_ledger()?;
        loop {
            let call = ledger.finish_tick(&self.held, &end);
            match self.engine.call("ledger", call).await {
                Ok(is_ours) => return Ok(is_ours),
                Err(error) if self.engine.clock().now() >= until => {
                    return Err(error.with_mutex(&self.held.name));
                }
                Err(_) => failures += 1,
            }
            let pause = self.engine.pause(failures);
            self.engine.clock().sleep(pause).await;
        }
    }
}
