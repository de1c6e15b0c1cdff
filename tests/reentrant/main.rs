//! Reentrant locks against real servers.
#![cfg(feature = "redis")]

mod after_crash;
mod contract;
mod fences;
mod identity;
mod interop;
mod layout;
mod life;
mod processes;
mod redisson;
mod stores;
mod support;
mod threads;

tenure_testkit::peer_process!();
