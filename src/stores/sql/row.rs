//! [`Row`]: a mutex as the table has it, with the server's time.

use std::time::Duration;

use crate::backend::{Answer, Entry, Nonce};
use crate::error::{Error, Outcome, Result};
use crate::model::text::shown;
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, Purpose, StoreTime};

const DAY: u64 = 24 * 3600 * 1000;

/// Twice the longest lease that a bid can have.
const LONGEST: u64 = 2 * 366 * DAY;

#[derive(Clone, Debug)]
pub(in crate::stores) struct Row {
    pub(in crate::stores) mutex: String,
    pub(in crate::stores) owner_id: String,
    pub(in crate::stores) acquired_at: u64,
    pub(in crate::stores) ttl_at: u64,
    pub(in crate::stores) transition_at: u64,
    pub(in crate::stores) version: u64,
    /// Of the bid that won; empty where the table has no column for it.
    pub(in crate::stores) nonce: String,
    /// What the table says beside it of what its owner wants it for.
    pub(in crate::stores) purpose: Option<Purpose>,
    /// The server's time when it answered.
    pub(in crate::stores) now: u64,
}

impl Row {
    /// Whether a bid may take it: the last moment of a lease is still owned.
    pub(in crate::stores) fn is_free(&self) -> bool {
        self.transition_at < self.now
    }

    /// How long its lease lasts yet.
    pub(in crate::stores) fn left(&self) -> Duration {
        Duration::from_millis(self.transition_at.saturating_sub(self.now))
    }

    pub(in crate::stores) fn now(&self) -> StoreTime {
        StoreTime::from_millis(self.now)
    }

    pub(in crate::stores) fn token(&self) -> Result<FencingToken> {
        FencingToken::from_store(self.version).map_err(|_| self.damaged())
    }

    /// Who owns, without a token: in a table that others write too, a version
    /// need not be one that was granted.
    pub(in crate::stores) fn owner(&self) -> Result<MutexOwner> {
        if self.is_free() {
            return Ok(MutexOwner::NONE);
        }
        let id = ContenderId::new(&self.owner_id).map_err(|_| self.damaged())?;
        if self.fault().is_some() {
            return Err(self.damaged());
        }
        let at = StoreTime::from_millis;
        Ok(MutexOwner::new(
            id,
            at(self.acquired_at),
            at(self.ttl_at),
            at(self.transition_at),
        ))
    }

    /// What is wrong with the row: peers in other languages and people at the
    /// database's prompt write it too.
    pub(in crate::stores) fn fault(&self) -> Option<String> {
        if self.version >= FencingToken::STORE_LIMIT {
            let version = self.version;
            return Some(format!(
                "its version is {version}, and tokens end below 2^53"
            ));
        }
        if self.is_free() {
            return None;
        }
        let left = self.transition_at - self.now;
        if self.owner_id.is_empty() {
            return Some(format!(
                "its lease runs for {left} ms more and it has no owner"
            ));
        }
        if let Err(error) = ContenderId::new(&self.owner_id) {
            return Some(format!(
                "its owner has an id that is not valid here: {error}"
            ));
        }
        (left > LONGEST).then(|| {
            let (owner, days) = (&self.owner_id, left / DAY);
            format!("it is owned by {owner:?} for another {days} days, longer than any lease")
        })
    }

    /// The error of a bid for the mutex: trying again does not help.
    fn damaged(&self) -> Error {
        let fault = self.fault().unwrap_or_default();
        Error::conflict(format!(
            "the row of this mutex is damaged: {fault}; revoke it"
        ))
    }

    /// Won, with the row's own token and times: what really remains.
    pub(in crate::stores) fn won(&self) -> Result<Answer> {
        let owner = self
            .owner()
            .and_then(|owner| Ok(owner.with_token(self.token()?)));
        // Granted, and of no use: the caller must undo it.
        let owner = owner.map_err(|error| {
            Error::new(error.kind(), Outcome::MayHave).with_message(error.to_string())
        })?;
        Ok(Answer::won(owner, self.now()))
    }

    /// One line of a listing.
    pub(in crate::stores) fn entry(&self, owner: Result<MutexOwner>) -> Entry {
        let name = MutexName::found(&self.mutex);
        match (self.fault(), owner) {
            (None, Ok(owner)) => {
                let nonce = Nonce::parse(&self.nonce);
                let purpose = nonce.and_then(Nonce::purpose).or(self.purpose);
                Entry::new(name, owner, self.token().ok()).wanted_for(purpose)
            }
            (Some(fault), _) => Entry::damaged(name, format!("{fault}; revoke it")),
            (None, Err(error)) => Entry::damaged(name, error.to_string()),
        }
    }
}

/// Text as a column has it, shown if it is none; none for NULL.
pub(in crate::stores) fn text(bytes: Option<&[u8]>) -> String {
    shown(bytes.unwrap_or_default())
}
