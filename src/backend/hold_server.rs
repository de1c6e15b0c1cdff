//! [`HoldServer`]: one server on which reentrant locks lie.

use std::fmt;

use super::Hold;
use super::traced::{Boxed, boxed, span};
use crate::error::Result;
use crate::model::MutexName;

/// What can be asked of one server with reentrant locks, and not of several
/// that keep a lock together. A store that is one server says so in
/// [`HoldStore::server`](super::HoldStore::server).
pub trait HoldServer: Send + Sync {
    /// Those of `names` that are held, in the order of their names; without
    /// names all that the store can tell from other keys.
    fn held(&self, names: &[MutexName]) -> impl Future<Output = Result<Vec<Hold>>> + Send;

    /// What the server calls itself: no other has the same, under whatever
    /// address it is reached. It may change when the server restarts.
    fn server_id(&self) -> impl Future<Output = Result<String>> + Send;
}

/// Any [`HoldServer`], its type forgotten. A call costs one box and runs in a
/// span.
#[derive(Clone, Copy)]
pub struct AnyHoldServer<'a>(&'a dyn Erased);

impl<'a> AnyHoldServer<'a> {
    /// Forgets the type of `server`.
    pub fn new(server: &'a impl HoldServer) -> Self {
        Self(server)
    }
}

impl fmt::Debug for AnyHoldServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyHoldServer")
    }
}

/// [`HoldServer`] with boxed futures, which a trait object can have.
trait Erased: Send + Sync {
    fn held<'a>(&'a self, names: &'a [MutexName]) -> Boxed<'a, Result<Vec<Hold>>>;
    fn server_id(&self) -> Boxed<'_, Result<String>>;
}

impl<S: HoldServer> Erased for S {
    fn held<'a>(&'a self, names: &'a [MutexName]) -> Boxed<'a, Result<Vec<Hold>>> {
        boxed(span!("held"), HoldServer::held(self, names))
    }
    fn server_id(&self) -> Boxed<'_, Result<String>> {
        boxed(span!("server_id"), HoldServer::server_id(self))
    }
}

impl HoldServer for AnyHoldServer<'_> {
    async fn held(&self, names: &[MutexName]) -> Result<Vec<Hold>> {
        self.0.held(names).await
    }
    async fn server_id(&self) -> Result<String> {
        self.0.server_id().await
    }
}
