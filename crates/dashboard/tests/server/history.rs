//! Who owned what and when: each way in which it can begin and end.

use std::time::Duration;

use serde_json::Value;
use tenure::backend::{Backend, Bid};
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure_dashboard::site::DashboardOptions;

use crate::support::Server;

fn ended(span: &Value) -> &str {
    span["ended"].as_str().unwrap_or("not yet")
}

#[tokio::test]
async fn what_is_taken_handed_on_and_freed_is_told_so() {
    let server = Server::start().await;
    server.json("/api/v1/mutexes").await;
    let first = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let lock = server.coordinator.lock("m").unwrap();
    let second = tokio::spawn(async move { lock.acquire().await.unwrap() });
    let spans = server.history("m", |spans| spans.len() == 1).await;
    assert_eq!(
        (&spans[0]["began"], ended(&spans[0])),
        (&"taken".into(), "not yet")
    );
    first.release().await.unwrap();
    let second = second.await.unwrap();
    let spans = server.history("m", |spans| spans.len() == 2).await;
    assert_eq!(
        (ended(&spans[0]), &spans[1]["began"]),
        ("handed", &"handed".into())
    );
    assert_eq!(spans[0]["until"], spans[1]["from"], "no gap");
    assert_eq!(spans[1]["token"], second.token().unwrap().to_string());
    second.release().await.unwrap();
    let spans = server
        .history("m", |spans| ended(&spans[1]) != "not yet")
        .await;
    assert_eq!(ended(&spans[1]), "freed");
}

#[tokio::test]
async fn what_was_owned_before_is_seen() {
    let coordinator = tenure::Coordinator::connect("memory:").await.unwrap();
    let _guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    let spans = server.history("m", |spans| spans.len() == 1).await;
    assert_eq!(spans[0]["began"], "seen");
}

#[tokio::test]
async fn an_owner_that_does_not_renew_has_lost_it() {
    let memory = Memory::new();
    let terms = LeaseTerms::new(Duration::from_millis(1_500), Duration::from_millis(2_500));
    let terms = terms.unwrap();
    let coordinator = tenure::Coordinator::with_backend(memory.clone(), terms).unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    server.json("/api/v1/mutexes").await;
    // A page is open: the store is looked at twice a second.
    let _events = server.events("/api/v1/events").await;
    let name = MutexName::new("m").unwrap();
    let dead = Bid::new(name, ContenderId::new("dead").unwrap(), terms);
    assert!(memory.acquire(&dead).await.unwrap().is_won());
    server.history("m", |spans| spans.len() == 1).await;
    let spans = server
        .history("m", |spans| ended(&spans[0]) != "not yet")
        .await;
    assert_eq!(
        (&spans[0]["owner"], ended(&spans[0])),
        (&"dead".into(), "expired")
    );
    // The next one takes it after a gap.
    let next = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let spans = server.history("m", |spans| spans.len() == 2).await;
    assert_eq!(spans[1]["began"], "taken");
    assert!(
        spans[0]["until"].as_str() <= spans[1]["from"].as_str(),
        "{spans:?}"
    );
    drop(next);
}

#[tokio::test]
async fn an_owner_that_was_revoked_here_is_told_so_and_its_next_has_taken_it() {
    let server = Server::with_short_leases().await;
    server.json("/api/v1/mutexes").await;
    let guard = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let row = server.row("m", |row| row["owner"].is_string()).await;
    let body = serde_json::json!({ "confirm": "m", "token": row["token"] }).to_string();
    let headers = [
        ("x-tenure-request", "1"),
        ("content-type", "application/json"),
    ];
    let reply = server
        .ask("POST", "/api/v1/mutexes/m/revoke", &headers, &body)
        .await;
    assert_eq!(reply.json()["revoked"], true, "{reply:?}");
    let spans = server.history("m", |spans| !spans.is_empty()).await;
    assert_eq!(ended(&spans[0]), "revoked");
    drop(guard);
    let next = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let spans = server.history("m", |spans| spans.len() == 2).await;
    assert_eq!(
        (ended(&spans[0]), &spans[1]["began"]),
        ("revoked", &"taken".into())
    );
    drop(next);
}
