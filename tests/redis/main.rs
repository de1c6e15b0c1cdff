//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
mod contract;
mod costs;
mod faults;
mod interop;
mod jvm;
mod queue;
mod support;
mod trouble;

tenure_testkit::peer_process!();
