//! What the tests of stores and programs share: the contract that every store
//! must fulfil, faults, histories and their judge, peers as real processes, and
//! real servers.

mod at_the_end;
pub mod contract;
pub mod fault;
pub mod history;
pub mod judge;
pub mod peer;
pub mod servers;
mod whole;

pub use at_the_end::AtTheEnd;
pub use whole::Whole;
