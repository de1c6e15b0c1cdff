//! What mutexes are wanted for.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tenure::backend::{Backend as _, Bid};
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure::{Coordinator, Holder};
use tenure_dashboard::site::DashboardOptions;

use crate::support::Server;

/// A bid that does not say what it is for, as those of earlier versions.
fn unmarked(name: &str) -> Bid {
    let (name, id) = (
        MutexName::new(name).unwrap(),
        ContenderId::new("old").unwrap(),
    );
    Bid::new(name, id, LeaseTerms::default())
}

async fn kinds(server: &Server) -> Value {
    server.json("/api/v1/mutexes?limit=0").await["kinds"].clone()
}

#[tokio::test]
async fn what_is_owned_for_different_ends_is_told_and_counted_apart() {
    let memory = Memory::new();
    let coordinator = Coordinator::with_backend(memory.clone(), LeaseTerms::default()).unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    let lock = server.coordinator.lock("report").unwrap();
    let _lock = lock.acquire().await.unwrap();
    let elector = server.coordinator.elector("billing").unwrap();
    let office = tokio::spawn(async move { elector.lead(|_| std::future::pending::<()>()).await });
    let holder = Holder::new("import");
    let stock = server.coordinator.reentrant_lock("stock").unwrap();
    let _stock = stock.held_by(&holder).acquire().await.unwrap();
    memory.acquire(&unmarked("legacy")).await.unwrap();
    for (name, kind) in [
        ("report", json!("lock")),
        ("billing", json!("leader")),
        ("stock", json!("reentrant")),
        ("legacy", Value::Null),
    ] {
        let row = server.row(name, |row| row["owner"].is_string()).await;
        assert_eq!(row["kind"], kind, "{row}");
    }
    let counts = json!({ "lock": 1, "leader": 1, "reentrant": 1, "unknown": 1 });
    assert_eq!(kinds(&server).await, counts);
    for (kind, name) in [("leader", "billing"), ("unknown", "legacy")] {
        let told = server.json(&format!("/api/v1/mutexes?kind={kind}")).await;
        assert_eq!(told["matched"], 1, "{told}");
        assert_eq!(told["mutexes"][0]["name"], name, "{told}");
    }
    assert_eq!(server.get("/api/v1/mutexes?kind=mutex").await.status, 400);
    office.abort();
}

#[tokio::test]
async fn one_that_is_free_is_what_its_last_owner_wanted() {
    let server = Server::start().await;
    let lock = server.coordinator.lock("report").unwrap();
    let guard = lock.acquire().await.unwrap();
    server.row("report", |row| row["kind"] == "lock").await;
    guard.release().await.unwrap();
    // The store knows nothing of it any more.
    let is_gone = |told: &Value| told["total"] == 0;
    server.until("/api/v1/mutexes", is_gone).await;
    let detail = server.json("/api/v1/mutexes/report").await;
    assert_eq!(detail["mutex"]["kind"], "lock", "{detail}");
    assert_eq!(detail["history"][0]["kind"], "lock", "{detail}");
}

#[tokio::test]
async fn names_that_no_path_can_carry_are_told_by_query() {
    let options = DashboardOptions::default().allow_revoke(true);
    let server = Server::with(options).await;
    for name in [".", "..", "a/b ?&=", "+"] {
        let lock = server.coordinator.lock(name).unwrap();
        let guard = lock.acquire().await.unwrap();
        let query = utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        let is_owned = |told: &Value| told["mutex"]["owner"].is_string();
        let path = format!("/api/v1/mutex?name={query}");
        let detail = server.until(&path, is_owned).await;
        assert_eq!(detail["mutex"]["name"], name, "{detail}");
        let token = guard.token().unwrap().to_string();
        let body = json!({ "confirm": name, "token": token }).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("x-tenure-request", "1"),
        ];
        let path = format!("/api/v1/mutex/revoke?name={query}");
        let reply = server.ask("POST", &path, &headers, &body).await;
        assert_eq!(reply.json()["revoked"], true, "{reply:?}");
    }
    for path in [
        "/api/v1/mutex",
        "/api/v1/mutex?name=",
        "/api/v1/mutex?name=%FF",
    ] {
        assert_eq!(server.get(path).await.status, 400, "{path}");
    }
    assert_eq!(server.get("/api/v1/mutex?name=none").await.status, 404);
}
