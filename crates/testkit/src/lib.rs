//! Testkit.
pub mod contract;
pub mod fault;
pub mod history;
pub mod judge;
pub mod peer;
pub mod servers;
