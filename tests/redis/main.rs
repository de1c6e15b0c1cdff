//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
mod assumptions;
mod certificates;
mod cluster;
mod contract;
mod costs;
mod dead_waiters;
mod doctor;
mod failover;
mod faults;
mod interop;
mod jvm;
mod outage;
mod partition;
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
