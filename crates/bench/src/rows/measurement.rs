//! The measurements by name.

use crate::environment::Store;

/// Something that is measured; most make more than one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measurement {
    /// Taking and freeing what no other wants, and the server's time for it.
    TakeFree,
    /// The same on a server that waits for its disk.
    OnDisk,
    /// What the engine asks the allocator for.
    Allocations,
    /// Many tasks of one process, each with a name of its own.
    ManyNames,
    /// Many tasks of one process with one name.
    OneName,
    /// From a process that frees to another that waits.
    HandOver,
    /// From an owner that is killed to the next.
    Killed,
    /// What held names cost.
    Holding,
    /// What it costs the server that names are waited for.
    Waiting,
    /// A row of clients that wait for one name.
    Waiters,
    /// Many processes at work.
    Processes,
}

impl Measurement {
    /// In the order in which they are made.
    pub const ALL: [Self; 11] = [
        Self::TakeFree,
        Self::OnDisk,
        Self::Allocations,
        Self::ManyNames,
        Self::OneName,
        Self::HandOver,
        Self::Killed,
        Self::Holding,
        Self::Waiting,
        Self::Waiters,
        Self::Processes,
    ];

    /// As `--row` takes it.
    pub fn key(self) -> &'static str {
        match self {
            Self::TakeFree => "take-free",
            Self::OnDisk => "on-disk",
            Self::Allocations => "allocations",
            Self::ManyNames => "many-names",
            Self::OneName => "one-name",
            Self::HandOver => "hand-over",
            Self::Killed => "killed",
            Self::Holding => "holding",
            Self::Waiting => "waiting",
            Self::Waiters => "waiters",
            Self::Processes => "processes",
        }
    }

    /// Whether it is made on this store.
    pub(super) fn is_of(self, store: Store) -> bool {
        match (self, store) {
            (Self::TakeFree, _) => true,
            (Self::Allocations, store) => store == Store::Memory,
            (_, Store::Memory) => false,
            (Self::OnDisk, store) => matches!(store, Store::Postgres | Store::Mariadb),
            (Self::ManyNames | Self::OneName, store) => store == Store::Redis,
            _ => true,
        }
    }
}
