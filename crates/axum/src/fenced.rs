//! [`Fenced`]: the gate before a handler.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::admitted::Admitted;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::seen::HighestSeen;
use crate::token::Token;

/// The time in which it must be known whether a request is admitted, unless another is set.
const LIMIT: Duration = Duration::from_secs(5);

/// A layer that admits a request only if its token is not smaller than the highest seen for its
/// resource.
///
/// Put it around the methods that write: `get(read).merge(put(write).layer(gate))`. The handler
/// may take [`Admitted`] as an argument. Clones share what was seen.
pub struct Fenced<S> {
    seen: Arc<S>,
    resource: Resource,
    limit: Duration,
}

impl<S: HighestSeen> Fenced<S> {
    /// A gate before the resource of this name, in which `{id}` stands for the parameter `id` of
    /// the route's path: `account:{id}` is a resource for each account.
    ///
    /// # Panics
    /// For a brace without the other one.
    pub fn new(resource: &str, seen: S) -> Self {
        Self {
            seen: Arc::new(seen),
            resource: Resource::new(resource),
            limit: LIMIT,
        }
    }

    /// The same gate, at which a request waits this long at most before it is refused with 503;
    /// 5 s unless set.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    async fn admit(&self, parts: &mut Parts) -> Result<Admitted, Refusal> {
        let Token(token) = Token::of(parts)?;
        let resource = self.resource.of(parts).await?;
        let admission = self.seen.admit(&resource, token);
        let in_time = tokio::time::timeout(self.limit, admission).await;
        in_time.unwrap_or(Err(Refusal::Late))
    }
}

impl<S> Clone for Fenced<S> {
    fn clone(&self) -> Self {
        Self {
            seen: self.seen.clone(),
            resource: self.resource.clone(),
            limit: self.limit,
        }
    }
}

impl<S> fmt::Debug for Fenced<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced")
            .field("resource", &self.resource)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<S, I> Layer<I> for Fenced<S> {
    type Service = FencedService<S, I>;

    fn layer(&self, inner: I) -> Self::Service {
        FencedService {
            gate: self.clone(),
            inner,
        }
    }
}

/// A service behind a [`Fenced`].
pub struct FencedService<S, I> {
    gate: Fenced<S>,
    inner: I,
}

impl<S, I> Service<Request> for FencedService<S, I>
where
    S: HighestSeen,
    I: Service<Request, Response = Response> + Clone + Send + 'static,
    I::Future: Send,
{
    type Response = Response;
    type Error = I::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, I::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), I::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The one that is ready goes with the request, its clone stays.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let gate = self.gate.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let admitted = match gate.admit(&mut parts).await {
                Ok(admitted) => admitted,
                Err(refusal) => return Ok(refusal.into_response()),
            };
            parts.extensions.insert(admitted.clone());
            let answer = inner.call(Request::from_parts(parts, body)).await;
            // Its turn, if it has one, lasts until the handler has answered.
            drop(admitted);
            answer
        })
    }
}

impl<S, I: Clone> Clone for FencedService<S, I> {
    fn clone(&self) -> Self {
        Self {
            gate: self.gate.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<S, I: fmt::Debug> fmt::Debug for FencedService<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedService")
            .field("gate", &self.gate)
            .field("inner", &self.inner)
            .finish()
    }
}
