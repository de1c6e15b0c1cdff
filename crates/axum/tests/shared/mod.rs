//! What every store of the highest seen must keep, and a server for it.

#[macro_use]
mod sql;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::routing::put;
use tenure::model::FencingToken;
use tenure_axum::{Admitted, Fenced, HighestSeen, Refusal};
use tenure_testkit::servers::wait;
use tower::ServiceExt;

/// Around 2^53, where a double loses the last digit, and up to the largest there is.
pub(crate) const LARGE: [u64; 7] = [
    (1 << 53) - 1,
    1 << 53,
    (1 << 53) + 1,
    999_999_999_999_999_999,
    1_000_000_000_000_000_000,
    (1 << 63) - 2,
    (1 << 63) - 1,
];

pub(crate) fn token(value: u64) -> FencingToken {
    FencingToken::from_value(value).unwrap()
}

/// The newest token, if this one is stale.
pub(crate) fn newest<T>(answer: Result<T, Refusal>) -> Option<u64> {
    match answer {
        Ok(_) => None,
        Err(Refusal::Stale { newest, .. }) => Some(newest.value()),
        Err(other) => panic!("{other:?}"),
    }
}

/// An owner may write many times, and one of before not once more, however large the tokens.
pub(crate) async fn every_digit_counts(seen: &impl HighestSeen) {
    for (index, larger) in LARGE.into_iter().enumerate() {
        for _ in 0..2 {
            assert_eq!(newest(seen.admit("digits", token(larger)).await), None);
        }
        for smaller in LARGE[..index].iter().chain(&[0, 1, 9]) {
            let answer = seen.admit("digits", token(*smaller)).await;
            assert_eq!(newest(answer), Some(larger), "{smaller} after {larger}");
        }
    }
    assert_eq!(newest(seen.admit("another", token(0)).await), None);
}

/// Many owners come at once, in any order: none is admitted after a newer one was, and the
/// highest never falls.
pub(crate) async fn the_highest_never_falls(seen: Arc<impl HighestSeen>) {
    const OWNERS: u64 = 400;
    let highest = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let mut owners = tokio::task::JoinSet::new();
    for number in 0..OWNERS {
        // Every number once, mixed: 181 has no divisor in common with 400.
        let value = (1 << 53) + number * 181 % OWNERS;
        let (seen, highest) = (seen.clone(), highest.clone());
        owners.spawn(async move {
            use std::sync::atomic::Ordering::SeqCst;
            let known = highest.load(SeqCst);
            match newest(seen.admit("many", token(value)).await) {
                None => {
                    assert!(value >= known, "{value} was admitted after {known}");
                    highest.fetch_max(value, SeqCst);
                }
                Some(newest) => {
                    assert!(newest > value && newest >= known, "{newest} for {value}");
                    highest.fetch_max(newest, SeqCst);
                }
            }
        });
    }
    while let Some(owner) = owners.join_next().await {
        owner.unwrap();
    }
    let last = (1 << 53) + OWNERS - 1;
    assert_eq!(
        newest(seen.admit("many", token(last - 1)).await),
        Some(last)
    );
    assert_eq!(newest(seen.admit("many", token(last)).await), None);
}

/// The store loses all it had: a server that lives refuses the old owner all the same, and brings
/// the highest back. One that has begun since, and hears of the old owner first, admits it: that is
/// where the promise ends.
pub(crate) async fn a_server_that_lives_does_not_forget<S: HighestSeen>(
    server: impl Fn() -> S,
    forget: impl AsyncFn(),
) {
    let [old, new] = [1 << 53, (1 << 53) + 1].map(token);
    let lives = server();
    for resource in ["kept", "lost"] {
        assert_eq!(newest(lives.admit(resource, old).await), None);
        assert_eq!(newest(lives.admit(resource, new).await), None);
    }
    forget().await;
    assert_eq!(newest(lives.admit("kept", old).await), Some(new.value()));
    let begins = server();
    assert_eq!(newest(begins.admit("kept", old).await), Some(new.value()));
    assert_eq!(newest(begins.admit("lost", old).await), None);
    assert_eq!(newest(lives.admit("lost", old).await), Some(new.value()));
    assert_eq!(newest(begins.admit("lost", old).await), Some(new.value()));
}

/// A gate for a slow machine.
pub(crate) fn patient<S: HighestSeen>(seen: S) -> Fenced<S> {
    Fenced::new("account:{id}", seen).with_limit(wait::LIMIT)
}

/// A service that says what it was admitted with.
pub(crate) fn service(gate: Fenced<impl HighestSeen>) -> Router {
    let write =
        |admitted: Admitted| async move { format!("{} {}", admitted.resource(), admitted.token()) };
    Router::new().route("/accounts/{id}", put(write).layer(gate))
}

/// The status and the body of an answer.
pub(crate) async fn send(app: &Router, request: Request<Body>) -> (StatusCode, String) {
    let answer = app.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = to_bytes(answer.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

pub(crate) async fn write(app: &Router, path: &str, token: u64) -> (StatusCode, String) {
    let request = Request::put(path).header("Fencing-Token", token.to_string());
    send(app, request.body(Body::empty()).unwrap()).await
}
