//! Reentrant locks against real servers.
#![cfg(feature = "redis")]

mod contract;
mod interop;
mod redisson;
mod stores;
mod support;
