//! A store of which a part makes no sense.

use serde_json::{Value, json};
use tenure::Coordinator;
use tenure_dashboard::site::DashboardOptions;

use crate::support::Server;

/// Under the very name by which the store is asked for its time.
const NAME: &str = "tenure-dashboard";

#[tokio::test]
async fn a_damaged_row_hides_nothing_else_and_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own.db");
    let url = format!("sqlite:{}", file.display());
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let _guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let sql = rusqlite::Connection::open(&file).unwrap();
    let damage = format!(
        "INSERT INTO simba_mutex SELECT '{NAME}', acquired_at, ttl_at, transition_at, owner_id, \
         -5, boot_id, nonce FROM simba_mutex WHERE mutex = 'm'"
    );
    sql.execute_batch(&damage).unwrap();
    let options = DashboardOptions::default().allow_revoke(true);
    let server = Server::of(coordinator.clone(), options).await;

    let owned = server.row("m", |row| row["owner"].is_string()).await;
    assert!(owned["fault"].is_null(), "{owned}");
    let row = server.row(NAME, |row| row["fault"].is_string()).await;
    let store = server.json("/api/v1/store").await;
    assert_eq!(
        (&store["reachable"], &store["latency_ms"]),
        (&json!(true), &Value::Null)
    );

    let revoke = async |wish: Value| {
        let headers = [
            ("x-tenure-request", "1"),
            ("content-type", "application/json"),
        ];
        let path = format!("/api/v1/mutexes/{NAME}/revoke");
        server.ask("POST", &path, &headers, &wish.to_string()).await
    };
    let reply = revoke(json!({ "confirm": NAME, "token": "1024" })).await;
    assert_eq!(reply.status, 409, "{reply:?}");
    assert!(reply.body.contains("damaged"), "{reply:?}");
    let reply = revoke(json!({ "confirm": NAME, "token": null, "owner": "another" })).await;
    assert_eq!(reply.status, 409, "{reply:?}");
    let mut wish = json!({ "confirm": NAME, "token": null });
    if row["owner"].is_string() {
        wish["owner"] = row["owner"].clone();
    }
    let reply = revoke(wish).await;
    assert_eq!(
        (reply.status, &reply.json()["revoked"]),
        (200, &json!(true))
    );
    server
        .until("/api/v1/store", |store| store["latency_ms"].is_number())
        .await;
    assert!(coordinator.owner("m").await.unwrap().is_some());
}
