//! [`Row`]: a mutex as the table has it, with the server's time.

use crate::backend::{Answer, Entry};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

#[derive(Clone, Debug)]
pub(in crate::stores) struct Row {
    pub(in crate::stores) mutex: String,
    pub(in crate::stores) owner_id: String,
    pub(in crate::stores) acquired_at: u64,
    pub(in crate::stores) ttl_at: u64,
    pub(in crate::stores) transition_at: u64,
    pub(in crate::stores) version: u64,
    /// The server's time when it answered.
    pub(in crate::stores) now: u64,
}

impl Row {
    /// Whether anyone may take it: the last moment of a lease is still owned.
    pub(in crate::stores) fn is_free(&self) -> bool {
        self.transition_at < self.now
    }

    pub(in crate::stores) fn now(&self) -> StoreTime {
        StoreTime::from_millis(self.now)
    }

    pub(in crate::stores) fn token(&self) -> Result<FencingToken> {
        FencingToken::from_store(self.version)
    }

    /// Who owns, without a token.
    pub(in crate::stores) fn owner(&self) -> Result<MutexOwner> {
        if self.is_free() || self.owner_id.is_empty() {
            return Ok(MutexOwner::NONE);
        }
        let id = ContenderId::new(&self.owner_id).map_err(|error| {
            Error::new(ErrorKind::Store, Outcome::DidNot)
                .with_message("the owner in the table has an id that is not valid here")
                .with_source(error)
        })?;
        let at = StoreTime::from_millis;
        Ok(MutexOwner::new(
            id,
            at(self.acquired_at),
            at(self.ttl_at),
            at(self.transition_at),
        ))
    }

    /// Won, with the row's own token and times: what really remains.
    pub(in crate::stores) fn won(&self) -> Result<Answer> {
        let owner = self.owner()?.with_token(self.token()?);
        Ok(Answer::won(owner, self.now()))
    }

    /// One line of a listing.
    pub(in crate::stores) fn entry(&self, owner: MutexOwner) -> Result<Entry> {
        let name = MutexName::new(&self.mutex)?;
        Ok(Entry::new(name, owner, Some(self.token()?)))
    }
}
