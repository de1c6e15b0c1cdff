//! Reentrant locks against real servers.
#![cfg(feature = "redis")]

mod contract;
mod interop;
mod layout;
mod life;
mod redisson;
mod stores;
mod support;
mod threads;
