//! Steps 2 and 3: the rows, and the few atomic things done to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tenure::Result;
use tenure::backend::{Answer, Bid, Entry, Held, Listing, Page, Prune, Pruned};
use tenure::clock::{Clock, Moment};
use tenure::model::{ContenderId, FencingToken, LeaseTerms, MutexName, MutexOwner, StoreTime};

/// One row per name. It stays when it is free, because its version must rise.
#[derive(Debug, Default)]
struct Row {
    owner: Option<MutexOwner>,
    version: u64,
    /// When it was last granted.
    granted_at: StoreTime,
}

/// All rows, under one lock: what makes each operation atomic here.
#[derive(Debug)]
pub struct Table {
    rows: Mutex<BTreeMap<MutexName, Row>>,
    /// The largest version of a row that was removed: new rows begin above it.
    floor: AtomicU64,
    clock: Clock,
    origin: Moment,
}

impl Row {
    /// The owner whose lease still runs: the end counts as owned.
    fn live(&self, now: StoreTime) -> Option<&MutexOwner> {
        self.owner.as_ref().filter(|owner| owner.has_owner(now))
    }

    fn owner(&self, now: StoreTime) -> MutexOwner {
        self.live(now).cloned().unwrap_or(MutexOwner::NONE)
    }

    /// Whether `id` owns with `token`: what every change of a grant asks first.
    fn is(&self, now: StoreTime, id: &ContenderId, token: FencingToken) -> bool {
        self.live(now)
            .is_some_and(|owner| owner.is_owner(id) && owner.token() == Some(token))
    }
}

fn leased(id: &ContenderId, since: StoreTime, now: StoreTime, terms: &LeaseTerms) -> MutexOwner {
    MutexOwner::new(id.clone(), since, now + terms.ttl(), now + terms.lease())
}

impl Table {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            rows: Mutex::default(),
            floor: AtomicU64::new(0),
            origin: clock.now(),
            clock,
        }
    }

    /// Does `work` on the row of `name` at the store's own time.
    fn on<T>(&self, name: &MutexName, work: impl FnOnce(&mut Row, StoreTime) -> T) -> T {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(name.clone()).or_default();
        work(row, self.now())
    }

    fn now(&self) -> StoreTime {
        // Any origin will do but zero, which means "never".
        StoreTime::from_millis(1) + self.clock.now().since(self.origin)
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.on(&bid.name, |row, now| {
            if let Some(owner) = row.live(now) {
                // The answer to this bid may have been lost. Without a nonce
                // only an id of its own tells the bid from its twin.
                let is_own = bid.unique_id && owner.is_owner(&bid.contender);
                let answer = if is_own { Answer::won } else { Answer::refused };
                return Ok(answer(owner.clone(), now));
            }
            let version = row.version.max(self.floor.load(Ordering::Relaxed)) + 1;
            let token = FencingToken::from_store(version)?;
            let owner = leased(&bid.contender, now, now, &bid.terms).with_token(token);
            row.version = version;
            row.granted_at = now;
            row.owner = Some(owner.clone());
            Ok(Answer::won(owner, now))
        })
    }

    pub(crate) fn renew(&self, held: &Held) -> Answer {
        self.on(&held.name, |row, now| {
            if !row.is(now, &held.contender, held.token) {
                return Answer::refused(row.owner(now), now);
            }
            let since = row.owner(now).acquired_at().unwrap_or(now);
            let owner = leased(&held.contender, since, now, &held.terms).with_token(held.token);
            row.owner = Some(owner.clone());
            Answer::won(owner, now)
        })
    }

    pub(crate) fn release(&self, held: &Held) -> Answer {
        self.free(&held.name, |row, now| {
            row.is(now, &held.contender, held.token)
        })
    }

    pub(crate) fn leave(&self, bid: &Bid) {
        // A shared id could be the twin's: its orphan runs out by itself.
        self.free(&bid.name, |row, now| {
            let owner = row.live(now);
            bid.unique_id && owner.is_some_and(|owner| owner.is_owner(&bid.contender))
        });
    }

    pub(crate) fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Answer {
        self.free(name, |row, now| {
            let Some(owner) = row.live(now) else {
                return false;
            };
            // Any token of the grant will do: compare the store's part of it.
            let grant = owner.token().map(FencingToken::store);
            token.is_none_or(|token| Some(token.store()) == grant)
        })
    }

    /// Frees `name` if `meant` says that this is the grant to free.
    fn free(&self, name: &MutexName, meant: impl FnOnce(&Row, StoreTime) -> bool) -> Answer {
        self.on(name, |row, now| {
            if !meant(row, now) {
                return Answer::refused(row.owner(now), now);
            }
            row.owner = None;
            Answer::won(MutexOwner::NONE, now)
        })
    }

    pub(crate) fn owner(&self, name: &MutexName) -> Answer {
        self.on(name, |row, now| Answer::refused(row.owner(now), now))
    }

    pub(crate) fn list(&self, page: &Page) -> Listing {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let owned = rows
            .iter()
            .filter(|(name, row)| page.wants(name) && row.live(now).is_some());
        // One more than asked for, which tells whether there is a next page.
        let entries = owned.take(page.limit.saturating_add(1)).map(|(name, row)| {
            let owner = row.owner(now);
            let token = owner.token();
            Entry::new(name.clone(), owner, token)
        });
        Listing::of(entries.collect(), page, now)
    }

    /// Removes rows, and remembers enough that tokens go on rising.
    pub(crate) fn prune(&self, prune: &Prune) -> Pruned {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, before) = (self.now(), rows.len());
        rows.retain(|_, row| {
            let stays = row.live(now).is_some() || row.granted_at + prune.unused_for >= now;
            if !stays {
                self.floor.fetch_max(row.version, Ordering::Relaxed);
            }
            stays
        });
        Pruned::of((before - rows.len()) as u64, 0)
    }
}
