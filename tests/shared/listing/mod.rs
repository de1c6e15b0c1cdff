//! What every store must stand that can list its mutexes.

pub(crate) mod damage;
pub(crate) mod ledgers;
pub(crate) mod prune;
