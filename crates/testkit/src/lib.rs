//! Testkit.
pub mod contract;
pub mod fault;
pub mod servers;
