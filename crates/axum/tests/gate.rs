//! The gate before a handler, with the highest tokens in memory.

#[allow(dead_code)] // each test uses a part of it
mod shared;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request};
use axum::routing::put;
use shared::{send, service, token, write};
use tenure::model::FencingToken;
use tenure_axum::{Admitted, Fenced, HighestSeen, InMemory, Refusal, Token};
use tokio::sync::Semaphore;

fn gate() -> Fenced<InMemory> {
    Fenced::new("account:{id}", InMemory::default())
}

#[tokio::test]
async fn an_old_owner_is_refused_and_told_the_newest() {
    let app = service(gate());
    let ok = |body: &str| (200.try_into().unwrap(), body.to_owned());
    assert_eq!(write(&app, "/accounts/7", 1024).await, ok("account:7 1024"));
    assert_eq!(write(&app, "/accounts/7", 2048).await, ok("account:7 2048"));
    assert_eq!(write(&app, "/accounts/7", 2048).await, ok("account:7 2048"));
    let (status, body) = write(&app, "/accounts/7", 1024).await;
    assert_eq!(status, 409);
    let told =
        r#"{"error":"the token 1024 is stale: 2048 has been seen","token":"1024","newest":"2048"}"#;
    assert_eq!(body, told);
}

#[tokio::test]
async fn each_resource_has_its_own_highest_however_its_name_is_written() {
    let app = service(gate());
    assert_eq!(write(&app, "/accounts/7", 2048).await.0, 200);
    assert_eq!(write(&app, "/accounts/8", 1024).await.0, 200);
    assert_eq!(write(&app, "/accounts/%37", 1024).await.0, 409);
}

#[tokio::test]
async fn a_request_without_a_token_is_told_so() {
    let app = service(gate());
    let request = Request::put("/accounts/7").body(Body::empty()).unwrap();
    let (status, body) = send(&app, request).await;
    assert_eq!(status, 428);
    assert_eq!(
        body,
        r#"{"error":"the request has no fencing-token header"}"#
    );
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let reads = |Token(token): Token| async move { token.to_string() };
    let apps = [
        service(gate()),
        Router::new().route("/accounts/{id}", put(reads)),
    ];
    let words: [&[u8]; 10] = [
        b"",
        b"-1",
        b"+1",
        b"1.0",
        b"1e3",
        b"0x1",
        b"1 2",
        b"9223372036854775808",
        b"\xff",
        b"1,2",
    ];
    for app in apps {
        for word in words {
            let value = HeaderValue::from_bytes(word).unwrap();
            let request = Request::put("/accounts/7").header("Fencing-Token", value);
            let (status, body) = send(&app, request.body(Body::empty()).unwrap()).await;
            assert_eq!(status, 400, "{word:?}: {body}");
        }
        let two = Request::put("/accounts/7").header("Fencing-Token", "1");
        let two = two.header("Fencing-Token", "1").body(Body::empty());
        assert_eq!(send(&app, two.unwrap()).await.0, 400);
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_kept_is_refused() {
    let app = service(gate());
    assert_eq!(write(&app, "/accounts/a%00b", 1024).await.0, 400);
    assert_eq!(write(&app, "/accounts/a%ffb", 1024).await.0, 400);
    let long = format!("/accounts/{}", "x".repeat(248));
    assert_eq!(write(&app, &long, 1024).await.0, 400);
    assert_eq!(write(&app, &long[..long.len() - 1], 1024).await.0, 200);
}

#[tokio::test]
async fn a_handler_whose_gate_was_forgotten_answers_500() {
    let write_it = |_: Admitted| async { "written" };
    let app = Router::new().route("/accounts/{id}", put(write_it));
    assert_eq!(write(&app, "/accounts/7", 1024).await.0, 500);
}

#[tokio::test]
async fn a_full_memory_forgets_nobody() {
    let app = service(Fenced::new("account:{id}", InMemory::with_room_for(2)));
    assert_eq!(write(&app, "/accounts/1", 2048).await.0, 200);
    assert_eq!(write(&app, "/accounts/2", 2048).await.0, 200);
    assert_eq!(write(&app, "/accounts/3", 2048).await.0, 503);
    assert_eq!(write(&app, "/accounts/1", 1024).await.0, 409);
    assert_eq!(write(&app, "/accounts/1", 3072).await.0, 200);
}

/// The handlers wait for a permit of the semaphore.
fn slow(gate: Fenced<InMemory>) -> (Router, Arc<Semaphore>) {
    let go = Arc::new(Semaphore::new(0));
    let permits = go.clone();
    // Without `Admitted`: the gate itself keeps the turn.
    let write_it = move |Token(token): Token| async move {
        permits.acquire().await.unwrap().forget();
        token.to_string()
    };
    let app = Router::new().route("/accounts/{id}", put(write_it).layer(gate));
    (app, go)
}

#[tokio::test(start_paused = true)]
async fn a_write_is_over_before_a_newer_owner_is_admitted() {
    let (app, go) = slow(gate());
    let old = tokio::spawn({
        let app = app.clone();
        async move { write(&app, "/accounts/7", 1024).await }
    });
    tokio::task::yield_now().await;
    let new = tokio::spawn({
        let app = app.clone();
        async move { write(&app, "/accounts/7", 2048).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!old.is_finished() && !new.is_finished());
    go.add_permits(1);
    assert_eq!(old.await.unwrap(), (200.try_into().unwrap(), "1024".into()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!new.is_finished(), "it is in its handler");
    go.add_permits(1);
    assert_eq!(new.await.unwrap(), (200.try_into().unwrap(), "2048".into()));
    assert_eq!(write(&app, "/accounts/7", 1024).await.0, 409);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_too_long_for_a_turn_is_not_admitted() {
    let (app, go) = slow(gate().with_limit(Duration::from_secs(3)));
    let stuck = tokio::spawn({
        let app = app.clone();
        async move { write(&app, "/accounts/7", 1024).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(write(&app, "/accounts/7", 2048).await.0, 503);
    stuck.abort();
    assert!(stuck.await.is_err());
    go.add_permits(1);
    assert_eq!(
        write(&app, "/accounts/7", 1024).await.0,
        200,
        "2048 was not seen"
    );
}

#[tokio::test]
async fn memory_keeps_what_it_promises() {
    shared::every_digit_counts(&InMemory::default()).await;
    shared::the_highest_never_falls(Arc::new(InMemory::default())).await;
}

struct Broken;

impl HighestSeen for Broken {
    async fn admit(&self, _: &str, _: FencingToken) -> Result<Admitted, Refusal> {
        Err(Refusal::Failed("no route to 10.0.0.7".into()))
    }
}

#[tokio::test]
async fn when_in_doubt_nobody_is_admitted_and_the_client_is_not_told_why() {
    let (status, body) = write(&service(Fenced::new("one", Broken)), "/accounts/7", 1).await;
    assert_eq!(status, 503);
    assert_eq!(body, r#"{"error":"what keeps the tokens has failed"}"#);
}

#[tokio::test]
async fn a_resource_that_the_route_cannot_name_is_a_mistake_of_the_program() {
    let app = service(Fenced::new("{other}", InMemory::default()));
    let (status, body) = write(&app, "/accounts/7", 1).await;
    assert_eq!(status, 500);
    assert_eq!(body, r#"{"error":"the route has no parameter \"other\""}"#);
}

#[tokio::test]
async fn what_was_kept_of_a_turn_goes_on_after_the_answer() {
    let seen = InMemory::default();
    let admitted = seen.admit("one", token(1)).await.unwrap();
    let kept = admitted.clone();
    drop(admitted);
    let limit = Duration::from_millis(20);
    let waits = tokio::time::timeout(limit, seen.admit("one", token(2))).await;
    assert!(waits.is_err());
    drop(kept);
    assert!(seen.admit("one", token(2)).await.is_ok());
}

/// What lives in a process ends with it: so must the resource.
#[tokio::test]
async fn a_process_that_begins_anew_has_seen_nothing() {
    let before = service(gate());
    assert_eq!(write(&before, "/accounts/7", 2048).await.0, 200);
    assert_eq!(write(&before, "/accounts/7", 1024).await.0, 409);
    let after = service(gate());
    assert_eq!(write(&after, "/accounts/7", 1024).await.0, 200);
}
