//! Testkit.
pub mod servers;
