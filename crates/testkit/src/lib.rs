//! Testkit.
pub mod contract;
pub mod servers;
