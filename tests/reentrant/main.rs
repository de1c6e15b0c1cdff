//! Reentrant locks against real servers.
#![cfg(feature = "redis")]

mod contract;
