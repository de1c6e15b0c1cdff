//! Which nodes have a vote: those that are known to be servers of their own.
//!
//! A node that could not be asked who it is when the lock was made is asked
//! before it is locked for the first time.

use super::client::Store;
use super::node::{Node, is_twin};
use crate::backend::HoldServer as _;
use crate::error::{Error, Result};

impl Store {
    /// Whether this node can be asked to be locked. In need, when nothing works
    /// without it, one that is of no use is tried more often.
    pub(super) async fn is_takeable(&self, index: usize, in_need: bool) -> bool {
        let node = &self.nodes[index];
        node.is_takeable(in_need).await && (node.is_admitted() || self.admit(index).await)
    }

    async fn admit(&self, index: usize) -> bool {
        let node = &self.nodes[index];
        // Of two that come late and are one server, the second finds the first.
        let _one = self.one_admission_at_a_time.lock().await;
        if node.is_admitted() {
            return true;
        }
        let admitted = self.identify(index).await;
        // What it is refused for is told as if it had refused a take.
        node.said_of_itself(&admitted);
        if let Ok(id) = admitted {
            tracing::info!(target: "tenure::lock", node = %node.label(), "has a vote now");
            node.admit(id);
            return true;
        }
        false
    }

    /// The id of a node that is none of the others.
    async fn identify(&self, index: usize) -> Result<String> {
        let node = &self.nodes[index];
        let id = node.ask(None, server_id(node)).await?;
        for (at, other) in self.nodes.iter().enumerate() {
            if at == index || !other.is_admitted() {
                continue;
            }
            // As it is now: a server has another id after a restart.
            let now = other.ask(None, server_id(other)).await.ok();
            if now.or_else(|| other.id()).as_ref() == Some(&id) {
                return Err(is_twin(node.label(), other.label()));
            }
        }
        Ok(id)
    }
}

async fn server_id(node: &Node) -> Result<String> {
    match node.store().server() {
        Some(server) => server.server_id().await,
        None => Err(Error::invalid("a node is one server, not several")),
    }
}
