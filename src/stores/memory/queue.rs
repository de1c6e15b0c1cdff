//! The queue before one mutex, and the place kept free for its head.

use std::collections::BTreeMap;
use std::time::Duration;

use super::watch::Audience;
use crate::backend::{Bid, Nonce};
use crate::model::{ContenderId, MutexName, StoreTime};

/// How long the mutex is kept for the waiter that was told. Long enough to
/// come and take it, short enough that a waiter which cannot come costs little.
pub(super) const RESERVE: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) contender: ContenderId,
    pub(super) nonce: Nonce,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// First come first. The nonce keeps two apart that bring the same score:
    /// one of them may have it from an earlier store.
    waiters: BTreeMap<(u64, Nonce), Waiter>,
    reserved: Option<(Waiter, StoreTime)>,
}

impl Queue {
    pub(super) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.waiters.values()
    }

    /// Whether no waiter stands here at `now`, and nothing is kept for one.
    pub(super) fn is_empty(&self, now: StoreTime) -> bool {
        self.waiters.is_empty() && self.reserved(now).is_none()
    }

    /// Whom the mutex is kept for at `now`, and until when.
    pub(super) fn reserved(&self, now: StoreTime) -> Option<&(Waiter, StoreTime)> {
        self.reserved.as_ref().filter(|(_, until)| *until >= now)
    }

    /// Puts `bid` into the queue, at its old place if it had one, and says how many
    /// stand before it and what its score is.
    pub(super) fn join(&mut self, bid: &Bid, next_score: &mut u64) -> (u32, u64) {
        let standing = self
            .waiters
            .iter()
            .find(|(_, w)| w.nonce == bid.nonce)
            .map(|((score, _), _)| *score);
        // A score that was not given out here says nothing here.
        let kept = || {
            let score: u64 = bid.score.as_ref()?.parse().ok()?;
            (score <= *next_score).then_some(score)
        };
        let score = standing.or_else(kept).unwrap_or_else(|| {
            *next_score += 1;
            *next_score
        });
        let waiter = Waiter {
            contender: bid.contender.clone(),
            nonce: bid.nonce,
        };
        self.waiters.insert((score, bid.nonce), waiter);
        let before = self.waiters.range(..(score, bid.nonce)).count();
        (u32::try_from(before).unwrap_or(u32::MAX), score)
    }

    /// Takes `nonce` out of the queue; true when the mutex was kept for it.
    pub(super) fn quit(&mut self, nonce: Nonce) -> bool {
        self.waiters.retain(|_, waiter| waiter.nonce != nonce);
        let was_kept = self
            .reserved
            .as_ref()
            .is_some_and(|(waiter, _)| waiter.nonce == nonce);
        if was_kept {
            self.reserved = None;
        }
        was_kept
    }

    /// Whether a waiter other than `nonce` stands first.
    pub(super) fn is_led_by_another(&self, nonce: Nonce) -> bool {
        self.waiters
            .first_key_value()
            .is_some_and(|(_, waiter)| waiter.nonce != nonce)
    }

    /// Tells the first waiter that hears it and keeps the mutex for it, then
    /// tells the next one too, which stands by in case the first cannot come.
    /// Those who do not hear are dropped: dead, or they will queue again.
    pub(super) fn call_next(
        &mut self,
        name: &MutexName,
        now: StoreTime,
        audience: &mut dyn Audience,
    ) {
        self.reserved = None;
        while let Some((_, waiter)) = self.waiters.pop_first() {
            if audience.turn(name, &waiter.contender) {
                self.reserved = Some((waiter, now + RESERVE));
                break;
            }
        }
        if let Some((_, understudy)) = self.waiters.first_key_value() {
            audience.turn(name, &understudy.contender);
        }
    }

    pub(super) fn end_reservation(&mut self) {
        self.reserved = None;
    }
}
