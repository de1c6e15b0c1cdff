//! Changes as they are seen.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;

use crate::support::{Events, Server};

async fn begun(server: &Server, path: &str) -> (Events, serde_json::Value) {
    let mut events = server.events(path).await;
    events.named("store").await;
    let all = events.named("mutexes").await;
    (events, all)
}

#[tokio::test]
async fn a_page_hears_all_and_then_what_changes() {
    let server = Server::start().await;
    let first = server
        .coordinator
        .lock("a")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let (mut events, all) = begun(&server, "/api/v1/events").await;
    assert_eq!((&all["whole"], &all["total"]), (&true.into(), &1.into()));
    let second = server
        .coordinator
        .lock("b")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let news = events.named("mutexes").await;
    assert_eq!(
        (&news["whole"], news["mutexes"].as_array().unwrap().len()),
        (&false.into(), 1)
    );
    assert_eq!(news["mutexes"][0]["name"], "b");
    assert!(news["version"].as_u64() > all["version"].as_u64());
    second.release().await.unwrap();
    loop {
        let news = events.named("mutexes").await;
        let row = &news["mutexes"][0];
        let is_free = row["name"] == "b" && row["owner"].is_null();
        if is_free || news["gone"][0] == "b" {
            break;
        }
    }
    // One that comes again hears all again.
    drop(events);
    let (_, all) = begun(&server, "/api/v1/events?limit=5").await;
    assert_eq!(all["whole"], true);
    drop(first);
}

/// A machine that stood still proves nothing, so the best of several counts.
#[tokio::test]
async fn a_change_is_heard_within_a_second() {
    let server = Server::start().await;
    let (mut events, _) = begun(&server, "/api/v1/events").await;
    let mut taken = Vec::new();
    for number in 0..8 {
        let name = format!("m{number}");
        let start = Instant::now();
        let _guard = server
            .coordinator
            .lock(&name)
            .unwrap()
            .acquire()
            .await
            .unwrap();
        loop {
            let news = events.named("mutexes").await;
            let rows = news["mutexes"].as_array().unwrap();
            if rows.iter().any(|row| row["name"] == name.as_str()) {
                break;
            }
        }
        taken.push(start.elapsed());
    }
    taken.sort();
    assert!(taken[4] < Duration::from_secs(1), "{taken:?}");
}

#[tokio::test]
async fn more_than_the_limit_are_left_to_be_asked_for() {
    let server = Server::start().await;
    let mut guards = Vec::new();
    for name in ["a", "b", "c"] {
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
    let (_, all) = begun(&server, "/api/v1/events?limit=2").await;
    assert_eq!((&all["too_many"], &all["total"]), (&true.into(), &3.into()));
    assert!(all["mutexes"].as_array().unwrap().is_empty());
    assert_eq!(server.get("/api/v1/events?limit=x").await.status, 400);
}

#[tokio::test]
async fn there_are_only_so_many_streams_and_each_gives_its_place_back() {
    let server = Server::start().await;
    let mut streams = Vec::new();
    for _ in 0..64 {
        streams.push(begun(&server, "/api/v1/events").await.0);
    }
    assert_eq!(server.get("/api/v1/events").await.status, 503);
    assert_eq!(server.get("/api/v1/store").await.status, 200);
    streams.clear();
    // That they are gone is known when something is written to them.
    let end = Instant::now() + crate::support::PATIENCE;
    loop {
        let mut again = server.events("/api/v1/events").await;
        let mut piece = [0; 12];
        // Its head is looked at by hand: it may be a refusal.
        if again.peeked(&mut piece).await && piece.ends_with(b"200") {
            break;
        }
        assert!(Instant::now() < end, "never: a free place");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn the_end_of_the_server_is_the_end_of_its_streams() {
    let mut server = Server::start().await;
    let (mut events, _) = begun(&server, "/api/v1/events").await;
    let mut silent = server.connect().await;
    server.end.take().unwrap().send(()).unwrap();
    while events.next().await.is_some() {}
    assert!(matches!(silent.read(&mut [0; 1]).await, Ok(0) | Err(_)));
    let ended = tokio::time::timeout(crate::support::PATIENCE, &mut server.task).await;
    ended.expect("it ends").unwrap();
    assert!(
        tokio::net::TcpStream::connect(server.address)
            .await
            .is_err()
    );
}
