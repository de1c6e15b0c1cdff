//! Schedules, with their runs.

use std::time::Duration;

use serde_json::Value;
use tenure::schedule::ScheduleConfig;

use crate::support::Server;

#[tokio::test]
async fn a_schedule_is_told_with_its_runs_and_its_next_one() {
    let server = Server::start().await;
    let every = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(1_200)).unwrap();
    let handle = server
        .coordinator
        .scheduler("tidy", every)
        .unwrap()
        .start(|_| async {})
        .unwrap();
    // One that ends between two looks has no outcome.
    let is_done = |run: &Value| run["outcome"] == "done";
    let row = server
        .row("tidy", |row| {
            let runs = row["runs"].as_array();
            runs.is_some_and(|runs| runs.len() >= 2 && runs.iter().any(is_done))
        })
        .await;
    assert_eq!(row["kind"], "schedule");
    assert!(row["next_run"].is_string(), "{row}");
    let runs = row["runs"].as_array().unwrap();
    assert!(runs[0]["run"].as_u64() < runs[1]["run"].as_u64(), "{row}");
    let done = runs.iter().find(|run| is_done(run)).unwrap();
    assert!(
        done["duration_ms"].is_u64() && done["token"].is_string(),
        "{row}"
    );
    let found = server.json("/api/v1/mutexes?kind=schedule").await;
    assert_eq!(found["matched"], 1);
    assert_eq!(
        server.json("/api/v1/mutexes?kind=unknown").await["matched"],
        0
    );
    handle.stop().await.unwrap();
    // No leader runs it: it stays, and is late.
    let row = server
        .row("tidy", |row| row["late_ms"].as_u64() > Some(1_000))
        .await;
    assert!(row["owner"].is_null(), "{row}");
}
