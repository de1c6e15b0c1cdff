//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
mod cluster;
mod contract;
mod costs;
mod faults;
mod interop;
mod jvm;
mod processes;
mod queue;
mod replicas;
mod support;
mod transport;
mod trouble;
mod wakeups;

tenure_testkit::peer_process!();
