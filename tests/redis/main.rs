//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
mod certificates;
mod cluster;
mod contract;
mod costs;
mod failover;
mod faults;
mod holders;
mod interop;
mod jvm;
mod lazy;
mod outage;
mod permits;
mod processes;
mod queue;
mod replicas;
mod support;
mod topologies;
mod transport;
mod trouble;
mod turns;
mod wakeups;

tenure_testkit::peer_process!();
