//! Redis, in the wire format of the JVM library Simba.
//!
//! Rust and JVM services can contend for the same mutex. See
//! `docs/stores/redis.md` for the URL's options, what lies in the store, and
//! the permissions needed. [`RedisHash`] is the layout of reentrant locks, shared
//! with Redisson.

mod acl;
mod client;
mod clocks;
mod cluster;
mod config;
mod connect;
mod fault;
mod fleet;
mod hash;
mod health;
mod keys;
mod ledger;
mod ledgers;
mod link;
mod listing;
mod prune;
mod push;
mod renewal;
mod reply;
mod scripts;
mod sentinels;
mod server;
mod slots;
mod subscriber;
mod survey;
mod sweep;
mod tls;
mod wire;

pub(super) use acl::setup;
pub use client::Redis;
pub use hash::RedisHash;
