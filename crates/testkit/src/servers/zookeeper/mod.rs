//! ZooKeeper: one server, or an ensemble.

mod builder;
mod ensemble;
mod node;

pub use builder::ZooKeeperBuilder;
pub use ensemble::ZooKeeperEnsemble;
pub use node::ZooKeeper;
