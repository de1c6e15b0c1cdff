//! The Redis store against real servers.
#![cfg(feature = "redis")]

mod acl;
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

// What every store must stand.
#[path = "../shared/same_chance.rs"]
mod same_chance;
#[path = "../shared/linger/mod.rs"]
mod shared_linger;
#[path = "../shared/listing/mod.rs"]
mod shared_listing;

tenure_testkit::peer_process!();
