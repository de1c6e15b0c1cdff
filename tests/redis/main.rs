//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod contract;
mod support;
