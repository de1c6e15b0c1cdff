//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod contract;
mod costs;
mod interop;
mod jvm;
mod queue;
mod support;

tenure_testkit::peer_process!();
