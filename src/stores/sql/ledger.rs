//! The run ledger: one row per schedule, written only while its claimer owns.

use std::sync::OnceLock;

use crate::backend::{Claim, LedgerEntry, TickState};
use crate::model::{FencingToken, StoreTime};

/// How often a claim is made again whose refusal the ledger does not explain:
/// another claimer wrote it between the refusal and the look.
pub(in crate::stores) const CLAIM_TRIES: usize = 4;

/// The error after so many. The pool takes it for a broken connection, so that
/// the next attempt has another.
pub(in crate::stores) fn unexplained() -> sqlx::Error {
    sqlx::Error::Protocol("the ledger changed under every claim".into())
}

/// A row of the table of ledgers.
#[derive(Debug)]
pub(in crate::stores) struct LedgerRow {
    pub(in crate::stores) plan: String,
    pub(in crate::stores) origin: u64,
    pub(in crate::stores) last_tick: u64,
    pub(in crate::stores) due_at: u64,
    pub(in crate::stores) token: u64,
    pub(in crate::stores) state: String,
    pub(in crate::stores) finished_at: Option<u64>,
    pub(in crate::stores) run: Option<String>,
}

impl LedgerRow {
    pub(in crate::stores) fn entry(self) -> sqlx::Result<LedgerEntry> {
        let at = StoreTime::from_millis;
        let token = FencingToken::from_value(self.token);
        let token = token.map_err(|error| sqlx::Error::Decode(error.into()))?;
        let claim = Claim::new(self.plan, at(self.origin), self.last_tick, at(self.due_at));
        let mut entry = LedgerEntry::claimed(&claim, token);
        entry.finished_at = self.finished_at.map(at);
        // A word of a later version: begun, and how it ended is not known.
        entry.state = TickState::of_word(&self.state).unwrap_or(TickState::Claimed);
        Ok(entry.with_note(&self.run.unwrap_or_default()))
    }
}

/// Statements for a table of ledgers without room for notes about runs, as an
/// earlier version made it, and for one with it.
#[derive(Clone, Debug)]
pub(in crate::stores) struct ByNotes<S> {
    both: [S; 2],
    keeps: OnceLock<bool>,
}

impl<S> ByNotes<S> {
    pub(in crate::stores) fn new(statements: impl Fn(bool) -> S) -> Self {
        Self {
            both: [false, true].map(statements),
            keeps: OnceLock::new(),
        }
    }

    /// Says which table it is, when it is first seen. To one that gets the room
    /// later, this client goes on writing without notes.
    pub(in crate::stores) fn keep(&self, notes: bool) {
        let _ = self.keeps.set(notes);
    }

    /// Those for the table that was seen; before that, those that every table
    /// understands.
    pub(in crate::stores) fn get(&self) -> &S {
        &self.both[usize::from(self.keeps.get().copied().unwrap_or(false))]
    }
}
