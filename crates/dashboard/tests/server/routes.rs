//! What is answered to whom asks plainly.

use tenure::Coordinator;
use tenure_dashboard::site::DashboardOptions;

use crate::support::Server;

#[tokio::test]
async fn each_path_has_its_answer() {
    let options = DashboardOptions::default().metrics(|| "tenure_up 1\n".to_owned());
    let server = Server::with(options).await;
    let page = server.get("/").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'nonce-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let nonce = policy
        .split("nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert!(page.body.contains(&format!("nonce=\"{nonce}\"")));
    assert!(!page.body.contains("NONCE"));
    let other = server.get("/").await;
    assert!(!other.body.contains(nonce), "a nonce is used once");
    assert_eq!(server.get("/healthz").await.body, "ok\n");
    assert_eq!(server.get("/metrics").await.body, "tenure_up 1\n");
    server
        .until("/api/v1/store", |store| store["reachable"] == true)
        .await;
    assert_eq!(server.get("/readyz").await.body, "ok\n");
    assert_eq!(server.get("/nothing").await.status, 404);
    assert_eq!(server.get("/api/status").await.status, 404);
    assert_eq!(server.get("/login").await.header("location"), Some("/"));
    let head = server.ask("HEAD", "/api/v1/store", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let reply = server.ask(method, "/api/v1/mutexes", &[], "").await;
        assert_eq!(reply.status, 405, "{method}: {reply:?}");
    }
}

#[tokio::test]
async fn the_store_is_told_of() {
    let options = DashboardOptions::default().store("memory: of this test");
    let server = Server::with(options).await;
    let store = server
        .until("/api/v1/store", |store| store["reachable"] == true)
        .await;
    assert_eq!(store["store"], "memory: of this test");
    assert_eq!(
        (store["mutexes"].as_u64(), &store["allow_revoke"]),
        (Some(0), &false.into())
    );
    assert!(store["latency_ms"].as_f64().unwrap() >= 0.0 && store["error"].is_null());
}

#[tokio::test]
async fn mutexes_are_told_as_they_are() {
    let server = Server::start().await;
    assert_eq!(server.json("/api/v1/mutexes").await["total"], 0);
    let guard = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let row = server.row("m", |row| row["owner"].is_string()).await;
    assert_eq!(row["token"], guard.token().unwrap().to_string());
    assert_eq!(row["lease_ms"], 16_000);
    let (held, left) = (
        row["held_ms"].as_u64().unwrap(),
        row["left_ms"].as_u64().unwrap(),
    );
    assert!(left > 0 && held + left <= 17_000, "{row}");
    let told = server
        .json("/api/v1/mutexes?state=owned&search=M&kind=lock")
        .await;
    assert_eq!(
        (&told["matched"], &told["mutexes"][0]["name"]),
        (&1.into(), &"m".into())
    );
    assert!(told["cut"].is_null() && told["age_ms"].as_u64().unwrap() < 45_000);
    assert_eq!(server.get("/api/v1/mutexes?sort=x").await.status, 400);
    assert_eq!(server.get("/api/v1/mutexes/other").await.status, 404);
    assert_eq!(server.get("/api/v1/mutexes/%FF").await.status, 400);
    assert_eq!(server.get("/api/v1/history").await.status, 400);
    let many = vec!["x"; 201].join(",");
    assert_eq!(
        server
            .get(&format!("/api/v1/history?names={many}"))
            .await
            .status,
        400
    );
    guard.release().await.unwrap();
}

/// Names that a path, a query or JSON could take for something else.
const ODD: [&str; 9] = [
    "a/b",
    "a,b",
    "a b",
    "a%2Fb",
    "a+b&c=d",
    "<script>",
    "ü\u{202e}注",
    "?#",
    "..",
];

#[tokio::test]
async fn odd_names_are_found_by_path_and_by_query() {
    let server = Server::start().await;
    let mut guards = Vec::new();
    for name in ODD {
        guards.push(
            server
                .coordinator
                .lock(name)
                .unwrap()
                .acquire()
                .await
                .unwrap(),
        );
    }
    let encoded =
        |name: &str| -> String { name.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let all: Vec<String> = ODD.iter().map(|name| encoded(name)).collect();
    for name in ODD {
        let row = server
            .row(&encoded(name), |row| row["owner"].is_string())
            .await;
        assert_eq!(row["name"], *name);
        let found = server
            .json(&format!("/api/v1/mutexes?search={}", encoded(name)))
            .await;
        assert!(found["matched"].as_u64().unwrap() >= 1, "{name}: {found}");
    }
    let reply = server
        .get(&format!("/api/v1/history?names={}", all.join(",")))
        .await;
    assert!(!reply.body.contains(['<', '\u{202e}']), "{reply:?}");
    let histories = reply.json()["histories"].as_object().unwrap().clone();
    assert_eq!(histories.len(), ODD.len(), "{histories:?}");
}

#[tokio::test]
async fn waiters_are_told_in_order_on_sqlite_too() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/t.db", folder.path().display());
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let other = Coordinator::connect(&url).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let lock = other.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    let row = server.row("m", |row| row["owner"].is_string()).await;
    assert_eq!(row["token"], guard.token().unwrap().to_string());
    assert!(row["waiters"].is_array());
    guard.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    let token = next.token().unwrap().to_string();
    server.row("m", |row| row["token"] == token).await;
    drop(next);
}
