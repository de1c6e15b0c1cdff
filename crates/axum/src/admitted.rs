//! [`Admitted`]: the proof that a request may go on.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use tenure::model::FencingToken;

/// A resource and a token that was not smaller than the highest seen for it.
///
/// A handler behind [`Fenced`](crate::Fenced) takes it as an argument. One that takes it without
/// such a gate answers 500, so that a forgotten gate is noticed.
///
/// While one of [`InMemory`](crate::InMemory) or a clone of it lives, no other is admitted to
/// the resource: give it to what goes on after the answer.
#[derive(Clone)]
#[must_use = "with it the turn ends"]
pub struct Admitted {
    resource: Arc<str>,
    token: FencingToken,
    turn: Option<Arc<dyn Any + Send + Sync>>,
}

impl Admitted {
    /// For a [`HighestSeen`](crate::HighestSeen) that has remembered `token`.
    pub fn new(resource: &str, token: FencingToken) -> Self {
        Self {
            resource: resource.into(),
            token,
            turn: None,
        }
    }

    /// The same, which keeps `turn` for as long as it lives.
    pub fn with_turn(self, turn: impl Any + Send + Sync) -> Self {
        let turn = Some(Arc::new(turn) as Arc<dyn Any + Send + Sync>);
        Self { turn, ..self }
    }

    /// What it may write to.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The token of the request.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted")
            .field("resource", &self.resource)
            .field("token", &self.token)
            .field("has_turn", &self.turn.is_some())
            .finish()
    }
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let admitted = parts.extensions.get().cloned();
        admitted.ok_or((
            StatusCode::INTERNAL_SERVER_ERROR,
            "this route has no gate: it needs the layer tenure_axum::Fenced\n",
        ))
    }
}
