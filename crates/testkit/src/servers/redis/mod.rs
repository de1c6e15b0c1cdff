//! Redis: one node, a master with sentinels, a cluster.

mod cluster;
mod node;
mod resp;
mod sentinel;

pub use cluster::{RedisCluster, RedisClusterBuilder};
pub use node::{Redis, RedisBuilder};
pub use sentinel::{RedisSentinel, RedisSentinelBuilder, Sentinel};
