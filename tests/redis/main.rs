//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
mod ahead;
mod assumptions;
mod certificates;
mod cluster;
mod contract;
mod corrupt;
mod costs;
mod damage;
mod dead_waiters;
mod doctor;
mod earlier;
mod failover;
mod faults;
mod holders;
mod interop;
mod jvm;
mod lazy;
mod linger;
mod listing;
mod named;
mod one_shard;
mod outage;
mod own;
mod partition;
mod permits;
mod processes;
mod prune;
mod queue;
mod replicas;
mod reset_node;
mod support;
mod topologies;
mod transport;
mod trouble;
mod turns;
mod voters;
mod wakeups;

tenure_testkit::peer_process!();
