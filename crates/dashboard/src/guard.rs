//! Who may ask at all: by a name of this server, and not from another site.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::Answer;
use crate::host::ServerNames;

/// What every answer has, unless it has its own.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Without any the browser would not say where a form comes from.
    (header::REFERRER_POLICY, "same-origin"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Refuses what was not meant for this server, and marks every answer as one
/// that is for this site alone.
pub(crate) async fn by_name(
    State(names): State<Arc<ServerNames>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match refusal(&request, &names) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        let headers = response.headers_mut();
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

fn refusal(request: &Request, names: &ServerNames) -> Option<Answer> {
    let uri = request.uri();
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    // A whole URL, or a second host: another program might read it in another way.
    if uri.authority().is_some() || !uri.path().starts_with('/') || hosts.next().is_some() {
        return Some(Answer::text(400, "this is no plain request for a path\n"));
    }
    // No browser leaves it out.
    let host = host?.to_str().unwrap_or_default();
    (!names.has(host)).then(|| {
        let text = "this server is not called so: use its address (localhost, on this host), \
                    or start it with --host NAME\n";
        Answer::text(421, text)
    })
}

/// Whether a browser says that a page of another site asks. What is no browser
/// says nothing.
pub(crate) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site")
        && site != "same-origin"
        && site != "none"
    {
        return true;
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let origin = origin.to_str().unwrap_or_default();
    // TLS may end at a proxy before this server.
    let place = origin.strip_prefix("http://");
    let place = place.or_else(|| origin.strip_prefix("https://"));
    match (place, host) {
        (Some(place), Some(host)) => !place.eq_ignore_ascii_case(host),
        _ => true,
    }
}

/// Refuses what a page of another site asks for.
pub(crate) async fn same_site(request: Request, next: Next) -> Response {
    if is_from_elsewhere(request.headers()) {
        let why = "a page of another site has asked";
        return Answer::refusal(403, why).into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = given.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    #[test]
    fn only_pages_of_this_very_place_may_ask() {
        let host = ("host", "localhost:4080");
        for ours in [
            &[host][..],
            &[host, ("origin", "http://localhost:4080")],
            &[host, ("origin", "https://LOCALHOST:4080")],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
        ] {
            assert!(!is_from_elsewhere(&headers(ours)), "{ours:?}");
        }
        for theirs in [
            &[host, ("origin", "http://evil.example")][..],
            &[host, ("origin", "http://localhost:9999")],
            &[host, ("origin", "http://localhost")],
            &[host, ("origin", "null")],
            &[host, ("origin", "")],
            &[host, ("origin", "file://localhost:4080")],
            &[host, ("origin", "http://localhost:4080.evil.example")],
            &[("origin", "http://localhost:4080")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
            &[
                host,
                ("sec-fetch-site", "cross-site"),
                ("origin", "http://localhost:4080"),
            ],
        ] {
            assert!(is_from_elsewhere(&headers(theirs)), "{theirs:?}");
        }
    }
}
