//! The rules of the store, over the rows of one transaction.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::clock::BootClock;
use super::error::{commit_failed, failed, sqlite_code};
use super::list::{LONGEST, damaged, unreadable};
use crate::backend::{Answer, Bid, Held, Nonce};
use crate::error::{Error, Result};
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};
use crate::stores::kit::wall;

const LOOK: &str = "
SELECT owner_id, acquired_at, ttl_at, transition_at, version, boot_id, nonce
FROM simba_mutex WHERE mutex = ?1";

/// Writes a grant, over the row that is there if `$where` holds for it.
macro_rules! grant {
    ($where:literal) => {
        concat!(
            "
INSERT INTO simba_mutex
    (mutex, acquired_at, ttl_at, transition_at, owner_id, version, boot_id, nonce)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (mutex) DO UPDATE SET
    acquired_at = excluded.acquired_at, ttl_at = excluded.ttl_at,
    transition_at = excluded.transition_at, owner_id = excluded.owner_id,
    version = excluded.version, boot_id = excluded.boot_id, nonce = excluded.nonce
WHERE ",
            $where
        )
    };
}

const GRANT: &str = grant!("true");

/// Takes what was never owned or was freed, in one statement. What else is free, or is
/// damaged, is for those who look first; so is a row whose number is not behind the clock.
const TAKE: &str = grant!(
    "owner_id = '' AND acquired_at = 0 AND ttl_at = 0 AND transition_at = 0
    AND version >= 0 AND version < excluded.version"
);

const EXTEND: &str = "UPDATE simba_mutex SET ttl_at = ?2, transition_at = ?3 WHERE mutex = ?1";

/// The version stays: the next token must be larger.
const FREE: &str = "
UPDATE simba_mutex
SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', nonce = x''
WHERE mutex = ?1";

/// Frees a grant that runs. The conditions are those of [`Grant::is`] and
/// [`Table::is_live`].
const RELEASE: &str = "
UPDATE simba_mutex
SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', nonce = x''
WHERE mutex = ?1 AND owner_id = ?2 AND nonce = ?3 AND version = ?4
    AND boot_id = ?5 AND transition_at >= ?6";

/// A wall clock beyond this (the year 2112) is wrong, and would use tokens up.
pub(super) const LATEST_WALL_MICROS: u64 = FencingToken::STORE_LIMIT / 2;

/// The rows, at one moment.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) connection: &'a Connection,
    pub(super) boot_id: &'a str,
    pub(super) now: StoreTime,
}

/// What a row says of the last grant.
#[derive(Debug)]
struct Grant {
    owner: String,
    acquired_at: StoreTime,
    ttl_at: StoreTime,
    transition_at: StoreTime,
    version: u64,
    boot_id: String,
    nonce: Vec<u8>,
}

/// What a bid finds.
#[derive(Debug)]
pub(super) enum Look {
    /// It is owned: the answer.
    Owned(Answer),
    Free {
        /// The number of the last grant.
        version: u64,
    },
}

/// What those who listen compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// The number of the last grant.
    pub(super) version: u64,
    /// Until when it is owned; `None` when it is free.
    pub(super) owned_until: Option<StoreTime>,
}

impl Grant {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |index| {
            let number: i64 = row.get(index)?;
            u64::try_from(number)
                .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
        };
        Ok(Self {
            owner: row.get(0)?,
            acquired_at: StoreTime::from_millis(number(1)?),
            ttl_at: StoreTime::from_millis(number(2)?),
            transition_at: StoreTime::from_millis(number(3)?),
            version: number(4)?,
            boot_id: row.get(5)?,
            nonce: row.get(6)?,
        })
    }

    fn is_of(&self, nonce: Nonce) -> bool {
        self.nonce == nonce.bits().to_be_bytes()
    }

    fn is(&self, held: &Held) -> bool {
        self.owner == held.contender.as_str()
            && self.is_of(held.nonce)
            && self.version == held.token.store()
    }

    fn owner(&self) -> Result<MutexOwner> {
        let nonsense = |error: Error| damaged(&error.to_string());
        let id = ContenderId::new(&self.owner).map_err(nonsense)?;
        let token = FencingToken::from_store(self.version).map_err(nonsense)?;
        let owner = MutexOwner::new(id, self.acquired_at, self.ttl_at, self.transition_at);
        Ok(owner.with_token(token))
    }
}

impl<'a> Table<'a> {
    pub(super) fn new(connection: &'a Connection, clock: &'a BootClock) -> Self {
        Self {
            connection,
            boot_id: &clock.name,
            now: clock.now(),
        }
    }

    /// Whether this grant's lease runs: it has an owner, is of this boot, and
    /// is not over.
    fn is_live(&self, grant: &Grant) -> bool {
        !grant.owner.is_empty() && grant.boot_id == self.boot_id && grant.transition_at >= self.now
    }

    /// The last grant of `name`, over or not.
    fn last(&self, name: &MutexName) -> Result<Option<Grant>> {
        let look = || {
            let mut statement = self.connection.prepare_cached(LOOK)?;
            statement.query_row([name.as_str()], Grant::read).optional()
        };
        look().map_err(unreadable)
    }

    fn live(&self, name: &MutexName) -> Result<Option<Grant>> {
        Ok(self.last(name)?.filter(|grant| self.is_live(grant)))
    }

    /// Whether the store has this very grant, and its lease runs.
    pub(super) fn holds(&self, held: &Held) -> Result<bool> {
        Ok(self.live(&held.name)?.is_some_and(|grant| grant.is(held)))
    }

    fn refused(&self, grant: Option<Grant>) -> Result<Answer> {
        if let Some(grant) = &grant
            && grant.transition_at.since(self.now) > LONGEST
        {
            return Err(damaged(
                "its lease is longer than any that can be asked for",
            ));
        }
        let owner = grant.map_or(Ok(MutexOwner::NONE), |grant| grant.owner())?;
        Ok(Answer::refused(owner, self.now))
    }

    /// Whether another owns what `bid` wants.
    pub(super) fn look(&self, bid: &Bid) -> Result<Look> {
        match self.last(&bid.name)? {
            Some(grant) if !self.is_live(&grant) => Ok(Look::Free {
                version: grant.version,
            }),
            Some(grant) if grant.is_of(bid.nonce) => {
                Ok(Look::Owned(Answer::won(grant.owner()?, self.now)))
            }
            Some(grant) => self.refused(Some(grant)).map(Look::Owned),
            None => Ok(Look::Free { version: 0 }),
        }
    }

    /// What `bid` is answered while it is owned; `None` when it may take.
    pub(super) fn answer_if_owned(&self, bid: &Bid) -> Result<Option<Answer>> {
        Ok(match self.look(bid)? {
            Look::Owned(answer) => Some(answer),
            Look::Free { .. } => None,
        })
    }

    /// [`Backend::acquire`](crate::backend::Backend::acquire).
    pub(super) fn acquire(&self, bid: &Bid) -> Result<Answer> {
        match self.look(bid)? {
            Look::Owned(answer) => Ok(answer),
            Look::Free { version } => self.grant(bid, version),
        }
    }

    /// Grants what is free; `before` is the number of the last grant.
    pub(super) fn grant(&self, bid: &Bid, before: u64) -> Result<Answer> {
        let (granted, answer) = self.write_grant(GRANT, bid, before)?;
        granted.map(|_| answer).map_err(failed)
    }

    /// Takes what is plainly free, in one statement that is its own transaction; `None` when it
    /// must be looked at first.
    pub(super) fn take(&self, bid: &Bid) -> Result<Option<Answer>> {
        let (taken, answer) = self.write_grant(TAKE, bid, 0)?;
        let taken = taken.map_err(commit_failed)?;
        Ok((taken > 0).then_some(answer))
    }

    /// How many rows were written, and the answer if it was one.
    fn write_grant(
        &self,
        statement: &str,
        bid: &Bid,
        before: u64,
    ) -> Result<(rusqlite::Result<usize>, Answer)> {
        let (ttl_at, transition_at) = (self.now + bid.terms.ttl(), self.now + bid.terms.lease());
        let version = next_version(before);
        let token =
            FencingToken::from_store(version).map_err(|error| damaged(&error.to_string()))?;
        let row = params![
            bid.name.as_str(),
            signed(self.now.as_millis()),
            signed(ttl_at.as_millis()),
            signed(transition_at.as_millis()),
            bid.contender.as_str(),
            signed(version),
            self.boot_id,
            bid.nonce.bits().to_be_bytes()
        ];
        let write = || self.connection.prepare_cached(statement)?.execute(row);
        let written = write();
        let owner = MutexOwner::new(bid.contender.clone(), self.now, ttl_at, transition_at);
        Ok((written, Answer::won(owner.with_token(token), self.now)))
    }

    /// [`Backend::renew`](crate::backend::Backend::renew).
    pub(super) fn renew_all(&self, held: &[Held]) -> Result<Vec<Result<Answer>>> {
        let renew = |held| match self.renew(held) {
            // The transaction is lost for all.
            Err(error) if sqlite_code(&error).is_some() => Err(error),
            // Nonsense in one row is that one's trouble.
            answer => Ok(answer),
        };
        held.iter().map(renew).collect()
    }

    fn renew(&self, held: &Held) -> Result<Answer> {
        match self.live(&held.name)? {
            Some(mut grant) if grant.is(held) => {
                grant.ttl_at = self.now + held.terms.ttl();
                grant.transition_at = self.now + held.terms.lease();
                let row = params![
                    held.name.as_str(),
                    signed(grant.ttl_at.as_millis()),
                    signed(grant.transition_at.as_millis())
                ];
                self.change(EXTEND, row)?;
                Ok(Answer::won(grant.owner()?, self.now))
            }
            other => self.refused(other),
        }
    }

    /// [`Backend::release`](crate::backend::Backend::release).
    pub(super) fn release(&self, held: &Held) -> Result<Answer> {
        self.free_if(&held.name, |grant| grant.is(held))
    }

    /// The same in one statement, which is its own transaction; `None` when
    /// there is no such grant.
    pub(super) fn release_at_once(&self, held: &Held) -> Result<Option<Answer>> {
        let row = params![
            held.name.as_str(),
            held.contender.as_str(),
            held.nonce.bits().to_be_bytes(),
            signed(held.token.store()),
            self.boot_id,
            signed(self.now.as_millis())
        ];
        let release = || self.connection.prepare_cached(RELEASE)?.execute(row);
        let freed = release().map_err(commit_failed)?;
        Ok((freed > 0).then(|| Answer::won(MutexOwner::NONE, self.now)))
    }

    /// The answer to leaving while there is nothing to undo; `None` when `bid`
    /// owns.
    pub(super) fn answer_unless_owned_by(&self, bid: &Bid) -> Result<Option<Answer>> {
        match self.live(&bid.name)? {
            Some(grant) if grant.is_of(bid.nonce) => Ok(None),
            other => self.refused(other).map(Some),
        }
    }

    /// The writing half of [`Backend::leave`](crate::backend::Backend::leave).
    pub(super) fn leave(&self, bid: &Bid) -> Result<Answer> {
        self.free_if(&bid.name, |grant| grant.is_of(bid.nonce))
    }

    /// [`Administration::revoke`](crate::backend::Administration::revoke).
    pub(super) fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        if token.is_none()
            && let Some(answer) = self.mend(name)?
        {
            return Ok(answer);
        }
        self.free_if(name, |grant| {
            token.is_none_or(|token| token.store() == grant.version)
        })
    }

    fn free_if(&self, name: &MutexName, meant: impl Fn(&Grant) -> bool) -> Result<Answer> {
        match self.live(name)? {
            Some(grant) if meant(&grant) => {
                self.change(FREE, params![name.as_str()])?;
                Ok(Answer::won(MutexOwner::NONE, self.now))
            }
            other => self.refused(other),
        }
    }

    /// [`Backend::owner`](crate::backend::Backend::owner).
    pub(super) fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.refused(self.live(name)?)
    }

    pub(super) fn sight(&self, name: &MutexName) -> Result<Sight> {
        let last = self.last(name)?;
        Ok(Sight {
            version: last.as_ref().map_or(0, |grant| grant.version),
            owned_until: last
                .filter(|grant| self.is_live(grant))
                .map(|grant| grant.transition_at),
        })
    }

    pub(super) fn change(&self, statement: &str, row: impl rusqlite::Params) -> Result<()> {
        let change = || self.connection.prepare_cached(statement)?.execute(row);
        change().map(drop).map_err(failed)
    }
}

/// Larger than the last, and than every one before if the file was lost.
fn next_version(last: u64) -> u64 {
    let micros = u64::try_from(wall().as_micros()).unwrap_or(u64::MAX);
    let micros = if micros < LATEST_WALL_MICROS {
        micros
    } else {
        0
    };
    micros.max(last + 1)
}

/// A number that fits: times and tokens stay below 2⁶³.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
