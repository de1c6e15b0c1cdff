//! [`LedgerLine`]: a ledger that a store holds, for people.

use super::LedgerEntry;
use crate::backend::Listed;
use crate::model::MutexName;

/// One ledger in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerLine {
    /// Whose it is, as [found](MutexName::found).
    pub name: MutexName,
    /// What it holds, if that can be made out.
    pub ledger: Option<LedgerEntry>,
    /// What is wrong with it, and what a person can do.
    pub fault: Option<Box<str>>,
}

impl LedgerLine {
    /// A ledger as it should be.
    #[must_use]
    pub fn new(name: MutexName, ledger: LedgerEntry) -> Self {
        Self {
            name,
            ledger: Some(ledger),
            fault: None,
        }
    }

    /// A ledger that cannot be made out, and why.
    #[must_use]
    pub fn damaged(name: MutexName, fault: impl Into<Box<str>>) -> Self {
        Self {
            name,
            ledger: None,
            fault: Some(fault.into()),
        }
    }
}

impl Listed for LedgerLine {
    fn name(&self) -> &MutexName {
        &self.name
    }
}
