//! Too few nodes, too little time, nodes that are skipped.

use std::time::Instant;

use tenure::ErrorKind;
use tenure_testkit::servers::{Flow, Way};

use super::support::*;

#[tokio::test]
async fn too_few_nodes_are_an_error_that_names_each() {
    let (name, servers) = ("too-few", servers(3));
    let lock = contender(&servers, name).await;
    servers[0].kill().unwrap();
    servers[2].kill().unwrap();
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let text = error.to_string();
    let port = |index: usize| servers[index].port();
    for words in [
        "2 of 3 are needed and 1 could be locked".to_owned(),
        format!("node 1 (redis://127.0.0.1:{}) is unavailable", port(0)),
        format!("node 2 (redis://127.0.0.1:{}) is locked", port(1)),
        format!("node 3 (redis://127.0.0.1:{}) is unavailable", port(2)),
    ] {
        assert!(text.contains(&words), "{words}: {text}");
    }
    assert_eq!(holder(&servers[1], name), None, "undone when it is told");
    // The waiter gets it as soon as enough are back.
    let waiting = lock.clone();
    let waiting = tokio::spawn(async move { waiting.acquire().await });
    servers[0].restart_empty().unwrap();
    let guard = tokio::time::timeout(PATIENCE, waiting).await;
    let guard = guard.expect("in time").unwrap().unwrap();
    assert_eq!(holder(&servers[0], name), holder(&servers[1], name));
    guard.release().await.unwrap();
    free_everywhere(&servers[..2], name).await;
}

#[tokio::test]
async fn an_attempt_over_its_time_is_undone_and_an_error() {
    let (name, servers) = ("over-time", servers(3));
    let builder = patient().command_timeout(SECOND).acquire_timeout(SECOND);
    let remote = Remote::with(builder, &servers, name).await;
    for way in &remote.ways {
        way.set(Way::ToClient, Flow::Delay(SECOND * 2 / 3));
    }
    let error = remote.lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(
        error.to_string().contains("acquire timeout of 1s"),
        "{error}"
    );
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn a_silent_node_is_waited_for_once_and_found_again_by_a_probe() {
    let (name, servers) = ("skipped", servers(3));
    // Shorter than it takes to notice that the connection is of no use: then
    // asking would cost nothing anyway.
    let timeout = SECOND * 45 / 100;
    let builder = patient().command_timeout(timeout);
    let lock = build(builder.nodes(over(&servers)), name).await;
    servers[2].pause().unwrap();
    let started = Instant::now();
    let guard = lock.try_acquire().await.unwrap().expect("two are enough");
    assert!(started.elapsed() >= timeout, "the third was waited for");
    guard.release().await.unwrap();
    let started = Instant::now();
    let guard = lock.try_acquire().await.unwrap().expect("again");
    assert!(started.elapsed() < timeout, "the third was skipped");
    guard.release().await.unwrap();
    servers[2].resume().unwrap();
    free_everywhere(&servers, name).await;
    loop {
        let guard = lock.acquire_within(PATIENCE).await.unwrap().expect("again");
        let all = holder(&servers[2], name).is_some();
        guard.release().await.unwrap();
        if all {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "node 3 was never probed");
        tokio::time::sleep(SECOND / 10).await;
    }
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn a_key_that_is_something_else_is_told_with_its_node() {
    let (name, servers) = ("wrong-type", servers(2));
    servers[1].command(&["SET", name, "text"]).unwrap();
    let lock = contender(&servers, name).await;
    let error = lock.acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("node 2"), "{error}");
    assert_eq!(holder(&servers[0], name), None);
}
