//! [`Administration`]: what a person may do to a store and ask of it.

use std::fmt;

use super::traced::{Boxed, boxed, span};
use super::{Answer, Finding};
use crate::error::Result;
use crate::model::{FencingToken, MutexName};

/// The interventions of people. A store that allows them says so in
/// [`Backend::administration`](super::Backend::administration).
pub trait Administration: Send + Sync {
    /// Frees `name` by force, from any owner; with a token, only if the grant
    /// with that token owns it. Answers *won* when this call freed it.
    fn revoke(
        &self,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> impl Future<Output = Result<Answer>> + Send;

    /// What a person should know about the health and set-up of the store.
    fn check(&self) -> impl Future<Output = Vec<Finding>> + Send;
}

/// Any [`Administration`], its type forgotten. A call costs one box and runs in
/// a span.
#[derive(Clone, Copy)]
pub struct AnyAdministration<'a>(&'a dyn Erased);

impl<'a> AnyAdministration<'a> {
    /// Forgets the type of `administration`.
    pub fn new(administration: &'a impl Administration) -> Self {
        Self(administration)
    }
}

impl fmt::Debug for AnyAdministration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyAdministration")
    }
}

/// [`Administration`] with boxed futures, which a trait object can have.
trait Erased: Send + Sync {
    fn revoke<'a>(
        &'a self,
        name: &'a MutexName,
        token: Option<FencingToken>,
    ) -> Boxed<'a, Result<Answer>>;
    fn check(&self) -> Boxed<'_, Vec<Finding>>;
}

impl<A: Administration> Erased for A {
    fn revoke<'a>(
        &'a self,
        name: &'a MutexName,
        token: Option<FencingToken>,
    ) -> Boxed<'a, Result<Answer>> {
        let span = span!("revoke", mutex = name);
        boxed(span, Administration::revoke(self, name, token))
    }
    fn check(&self) -> Boxed<'_, Vec<Finding>> {
        boxed(span!("check"), Administration::check(self))
    }
}

impl Administration for AnyAdministration<'_> {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.0.revoke(name, token).await
    }
    async fn check(&self) -> Vec<Finding> {
        self.0.check().await
    }
}
