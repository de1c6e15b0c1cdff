//! ZooKeeper: one server, or an ensemble.

mod ensemble;
mod node;

pub use ensemble::ZooKeeperEnsemble;
pub use node::ZooKeeper;
