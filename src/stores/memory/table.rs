//! The rules of the store, as plain functions of the table and the time.

use std::collections::BTreeMap;

use super::queue::Queue;
use super::watch::Audience;
use crate::backend::{
    Answer, Bid, Claim, ClaimAnswer, Entry, Held, LedgerEntry, LedgerLine, Ledgers, Listing, Nonce,
    Page, Prune, Pruned, TickEnd,
};
use crate::error::Result;
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, Purpose, StoreTime};

/// All mutexes and ledgers of one memory store. No clock, no waiting: the
/// caller says what time it is. Ordered maps, so that a simulation replays.
#[derive(Debug, Default)]
pub struct Table {
    mutexes: BTreeMap<MutexName, Mutex>,
    ledgers: BTreeMap<MutexName, LedgerEntry>,
    next_score: u64,
}

#[derive(Debug, Default)]
struct Mutex {
    grant: Option<Grant>,
    queue: Queue,
    /// The number of the last grant; outlives it, so that tokens rise.
    fence: u64,
}

#[derive(Debug, Clone)]
struct Grant {
    contender: ContenderId,
    nonce: Nonce,
    token: FencingToken,
    acquired_at: StoreTime,
    ttl_at: StoreTime,
    transition_at: StoreTime,
}

impl Grant {
    fn is(&self, held: &Held) -> bool {
        self.contender == held.contender && self.nonce == held.nonce && self.token == held.token
    }

    fn owner(&self) -> MutexOwner {
        MutexOwner::new(
            self.contender.clone(),
            self.acquired_at,
            self.ttl_at,
            self.transition_at,
        )
        .with_token(self.token)
    }
}

impl Mutex {
    /// The grant whose lease runs at `now`.
    fn live(&mut self, now: StoreTime) -> Option<&mut Grant> {
        self.grant
            .as_mut()
            .filter(|grant| grant.transition_at >= now)
    }

    fn owner(&self, now: StoreTime) -> MutexOwner {
        let live = self
            .grant
            .as_ref()
            .filter(|grant| grant.transition_at >= now);
        live.map_or(MutexOwner::NONE, Grant::owner)
    }

    /// What its owner wants it for, or the first waiter that says it.
    fn purpose(&self, now: StoreTime) -> Option<Purpose> {
        let live = self.grant.iter().filter(|grant| grant.transition_at >= now);
        let waiters = self.queue.waiters().map(|waiter| waiter.nonce);
        let mut nonces = live.map(|grant| grant.nonce).chain(waiters);
        nonces.find_map(Nonce::purpose)
    }

    /// Ends the grant and calls the next in the queue.
    fn free(&mut self, name: &MutexName, now: StoreTime, audience: &mut dyn Audience) {
        self.grant = None;
        self.queue.call_next(name, now, audience);
        audience.changed(name);
    }
}

impl Table {
    fn mutex(&mut self, name: &MutexName) -> &mut Mutex {
        self.mutexes.entry(name.clone()).or_default()
    }

    /// [`Backend::acquire`](crate::backend::Backend::acquire).
    ///
    /// # Errors
    /// When the tokens of this mutex are used up.
    pub fn acquire(
        &mut self,
        now: StoreTime,
        bid: &Bid,
        audience: &mut dyn Audience,
    ) -> Result<Answer> {
        let mutex = self.mutexes.entry(bid.name.clone()).or_default();
        let blocker = match mutex.live(now) {
            Some(grant) if grant.nonce == bid.nonce => return Ok(Answer::won(grant.owner(), now)),
            Some(grant) => Some(grant.owner()),
            None => {
                let kept = mutex.queue.reserved(now).map(|(waiter, _)| waiter.nonce);
                if kept.is_none() && mutex.queue.is_led_by_another(bid.nonce) {
                    // Free with another waiter first: a lost wake-up or a crash
                    // heals at the next look of any contender.
                    mutex.queue.call_next(&bid.name, now, audience);
                }
                let kept = mutex
                    .queue
                    .reserved(now)
                    .filter(|(waiter, _)| waiter.nonce != bid.nonce);
                kept.map(|(waiter, until)| {
                    MutexOwner::foreign(waiter.contender.clone()).owning_until(*until)
                })
            }
        };
        if let Some(owner) = blocker {
            let refused = Answer::refused(owner, now);
            if !bid.queue {
                return Ok(refused);
            }
            let (rank, score) = mutex.queue.join(bid, &mut self.next_score);
            return Ok(refused.at_place(rank, score.to_string()));
        }
        // The time keeps tokens rising when the process starts again.
        let number = (mutex.fence + 1).max(now.as_millis().saturating_mul(1000));
        let grant = Grant {
            contender: bid.contender.clone(),
            nonce: bid.nonce,
            token: FencingToken::from_store(number)?,
            acquired_at: now,
            ttl_at: now + bid.terms.ttl(),
            transition_at: now + bid.terms.lease(),
        };
        mutex.fence = number;
        mutex.queue.quit(bid.nonce);
        mutex.queue.end_reservation();
        let owner = grant.owner();
        mutex.grant = Some(grant);
        audience.changed(&bid.name);
        Ok(Answer::won(owner, now))
    }

    /// One element of [`Backend::renew`](crate::backend::Backend::renew).
    pub fn renew(&mut self, now: StoreTime, held: &Held) -> Answer {
        let mutex = self.mutex(&held.name);
        match mutex.live(now).filter(|grant| grant.is(held)) {
            Some(grant) => {
                grant.ttl_at = now + held.terms.ttl();
                grant.transition_at = now + held.terms.lease();
                Answer::won(grant.owner(), now)
            }
            None => Answer::refused(mutex.owner(now), now),
        }
    }

    /// [`Backend::release`](crate::backend::Backend::release).
    pub fn release(&mut self, now: StoreTime, held: &Held, audience: &mut dyn Audience) -> Answer {
        let mutex = self.mutex(&held.name);
        if mutex.live(now).is_none_or(|grant| !grant.is(held)) {
            return Answer::refused(mutex.owner(now), now);
        }
        mutex.free(&held.name, now, audience);
        Answer::won(MutexOwner::NONE, now)
    }

    /// [`Backend::leave`](crate::backend::Backend::leave).
    pub fn leave(&mut self, now: StoreTime, bid: &Bid, audience: &mut dyn Audience) {
        let mutex = self.mutex(&bid.name);
        let was_kept = mutex.queue.quit(bid.nonce);
        if mutex
            .live(now)
            .is_some_and(|grant| grant.nonce == bid.nonce)
            || was_kept
        {
            mutex.free(&bid.name, now, audience);
        }
    }

    /// [`Backend::owner`](crate::backend::Backend::owner).
    #[must_use]
    pub fn owner(&self, now: StoreTime, name: &MutexName) -> Answer {
        let owner = self
            .mutexes
            .get(name)
            .map_or(MutexOwner::NONE, |mutex| mutex.owner(now));
        Answer::refused(owner, now)
    }

    /// [`Administration::revoke`](crate::backend::Administration::revoke).
    pub fn revoke(
        &mut self,
        now: StoreTime,
        name: &MutexName,
        token: Option<FencingToken>,
        audience: &mut dyn Audience,
    ) -> Answer {
        let mutex = self.mutex(name);
        let meant =
            |grant: &mut Grant| token.is_none_or(|token| token.store() == grant.token.store());
        if !mutex.live(now).is_some_and(meant) {
            return Answer::refused(mutex.owner(now), now);
        }
        mutex.free(name, now, audience);
        Answer::won(MutexOwner::NONE, now)
    }

    /// [`Inventory::list`](crate::backend::Inventory::list).
    #[must_use]
    pub fn list(&self, now: StoreTime, page: &Page) -> Listing {
        let wanted = self.mutexes.iter().filter(|(name, mutex)| {
            let in_use = mutex.owner(now).has_owner(now) || !mutex.queue.is_empty(now);
            in_use && page.wants(name)
        });
        let entries = wanted
            .take(page.limit.saturating_add(1))
            .map(|(name, mutex)| {
                let token = FencingToken::from_store(mutex.fence)
                    .ok()
                    .filter(|_| mutex.fence > 0);
                let waiters = mutex.queue.waiters().map(|waiter| waiter.contender.clone());
                Entry::new(name.clone(), mutex.owner(now), token)
                    .with_waiters(waiters.collect())
                    .wanted_for(mutex.purpose(now))
            });
        Listing::of(entries.collect(), page, now)
    }

    /// [`Inventory::prune`](crate::backend::Inventory::prune).
    pub fn prune(&mut self, now: StoreTime, prune: &Prune) -> Pruned {
        let oldest = StoreTime::from_millis(
            now.as_millis()
                .saturating_sub(u64::try_from(prune.unused_for.as_millis()).unwrap_or(u64::MAX)),
        );
        let before = (self.mutexes.len(), self.ledgers.len());
        let is_free = |mutex: &Mutex| !mutex.owner(now).has_owner(now) && mutex.queue.is_empty(now);
        if prune.schedules {
            let mutexes = &self.mutexes;
            self.ledgers.retain(|name, entry| {
                let last = entry
                    .due_at
                    .max(entry.origin)
                    .max(entry.finished_at.unwrap_or_default());
                let granted = StoreTime::from_millis(entry.token.store() / 1000);
                last.max(granted) >= oldest || !mutexes.get(name).is_none_or(is_free)
            });
        }
        // The number of a grant is the time it was made, or a later one: from
        // then on a new row begins with a larger one.
        self.mutexes.retain(|_, mutex| {
            mutex.fence >= oldest.as_millis().saturating_mul(1000) || !is_free(mutex)
        });
        Pruned::of(
            (before.0 - self.mutexes.len()) as u64,
            (before.1 - self.ledgers.len()) as u64,
        )
    }

    /// [`Ledger::read_ledger`](crate::backend::Ledger::read_ledger).
    #[must_use]
    pub fn read_ledger(&self, name: &MutexName) -> Option<LedgerEntry> {
        self.ledgers.get(name).cloned()
    }

    /// [`Ledger::list_ledgers`](crate::backend::Ledger::list_ledgers).
    #[must_use]
    pub fn list_ledgers(&self, now: StoreTime, page: &Page) -> Ledgers {
        let wanted = self.ledgers.iter().filter(|(name, _)| page.wants(name));
        let lines = wanted
            .take(page.limit.saturating_add(1))
            .map(|(name, entry)| LedgerLine::new(name.clone(), entry.clone()));
        Ledgers::of(lines.collect(), page, now)
    }

    /// [`Ledger::claim_tick`](crate::backend::Ledger::claim_tick).
    pub fn claim_tick(&mut self, now: StoreTime, held: &Held, claim: &Claim) -> ClaimAnswer {
        if self
            .mutex(&held.name)
            .live(now)
            .is_none_or(|grant| !grant.is(held))
        {
            return ClaimAnswer::NotOwner;
        }
        let ledger = self.ledgers.get(&held.name);
        match ledger {
            Some(entry) if !claim.fits(ledger, held.token) => ClaimAnswer::Refused(entry.clone()),
            _ => {
                let entry = LedgerEntry::claimed(claim, held.token);
                self.ledgers.insert(held.name.clone(), entry);
                ClaimAnswer::Claimed
            }
        }
    }

    /// [`Ledger::finish_tick`](crate::backend::Ledger::finish_tick).
    pub fn finish_tick(&mut self, now: StoreTime, held: &Held, end: &TickEnd) -> bool {
        let Some(entry) = self.ledgers.get_mut(&held.name) else {
            return false;
        };
        let is_ours = entry.ends_with(end, held.token);
        if is_ours {
            entry.end(end, now);
        }
        is_ours
    }
}
