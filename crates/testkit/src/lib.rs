//! Testkit.
pub mod peer;
pub mod servers;
