//! The simulated store: the memory store's own rules, on its own clock.

use std::collections::BTreeSet;

use super::judge::True;
use crate::backend::{Answer, Held};
use crate::engine::event::Call;
use crate::error::Result;
use crate::model::{ContenderId, MutexName, MutexOwner, StoreTime};
use crate::stores::memory::{Audience, Table};

/// What travels to the store.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Call(Call),
    Renew(Held),
}

#[derive(Debug)]
pub(super) struct Store {
    table: Table,
    speed: f64,
    pub(super) is_down: bool,
}

/// Who is subscribed, and who is to be told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) subscribed: BTreeSet<ContenderId>,
    pub(super) turns: Vec<ContenderId>,
    pub(super) changed: bool,
}

impl Audience for Told {
    fn turn(&mut self, _: &MutexName, waiter: &ContenderId) -> bool {
        self.turns.push(waiter.clone());
        self.subscribed.contains(waiter)
    }

    fn changed(&mut self, _: &MutexName) {
        self.changed = true;
    }
}

impl Store {
    pub(super) fn new(speed: f64) -> Self {
        Self {
            table: Table::default(),
            speed,
            is_down: false,
        }
    }

    /// The store's clock: any epoch, its own speed.
    fn now(&self, now: True) -> StoreTime {
        StoreTime::from_millis(1_700_000_000_000 + (now as f64 * self.speed / 1e6) as u64)
    }

    pub(super) fn apply(
        &mut self,
        now: True,
        request: &Request,
        told: &mut Told,
    ) -> Result<Answer> {
        let at = self.now(now);
        match request {
            Request::Call(Call::Acquire(bid)) => self.table.acquire(at, bid, told),
            Request::Call(Call::Release { bid, token, .. }) => {
                Ok(self.table.release(at, &bid.held(*token), told))
            }
            Request::Call(Call::Leave(bid)) => {
                self.table.leave(at, bid, told);
                Ok(Answer::won(MutexOwner::NONE, at))
            }
            Request::Renew(held) => Ok(self.table.renew(at, held)),
        }
    }

    /// Restarts with nothing; the clock goes on.
    pub(super) fn forget(&mut self) {
        self.table = Table::default();
    }

    /// What is left in it.
    pub(super) fn leftovers(&self, now: True) -> Vec<String> {
        let listing = self
            .table
            .list(self.now(now), &crate::backend::Page::first(10));
        listing
            .entries
            .iter()
            .map(|entry| format!("{entry:?}"))
            .collect()
    }
}
