//! A server for what Prometheus, Kubernetes and neighbours ask of a program.

use std::future::pending;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

use crate::answer::Answer;
use crate::host::{Reach, ServerNames};
use crate::{guard, serve};

/// Answers each path as `answer` says, with 404 and `paths` where it says nothing,
/// until it is dropped. On the loopback only to the loopback's names, so that no
/// other site's page can read it.
///
/// # Cancel safety
/// Dropping it ends the listening; requests under way are still answered.
pub async fn run<F>(listener: TcpListener, paths: &'static str, answer: F)
where
    F: Fn(&str) -> Option<Answer> + Send + Sync + 'static,
{
    let address = listener.local_addr();
    let reach = match address.is_ok_and(|address| !address.ip().is_loopback()) {
        true => Reach::Anywhere,
        false => Reach::ThisHost,
    };
    let names = Arc::new(ServerNames::new(reach, &[]));
    let answer = Arc::new(answer);
    let fallback = move |request: Request| {
        let response = respond(&request, paths, &*answer);
        async move { response }
    };
    let router = Router::new()
        .fallback(fallback)
        .layer(from_fn_with_state(names, guard::by_name));
    serve::serve(listener, None, router, pending()).await;
}

fn respond(request: &Request, paths: &str, answer: &impl Fn(&str) -> Option<Answer>) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return ([("allow", "GET, HEAD")], Answer::text(405, "only GET\n")).into_response();
    }
    let answer = answer(request.uri().path());
    let unknown = || Answer::text(404, format!("try {paths}\n"));
    answer.unwrap_or_else(unknown).into_response()
}
