//! Holding on while nodes come and go.

use tenure::LossCause;

use super::support::*;

/// Long enough for a busy machine, short enough to see several.
const EXPIRY: std::time::Duration = std::time::Duration::from_secs(5);

#[tokio::test]
async fn a_hold_survives_the_death_of_one_node() {
    let (name, servers) = ("one-dies", servers(3));
    let builder = patient().expiry(EXPIRY).nodes(over(&servers));
    let lock = build(builder, name).await;
    let guard = lock.lock().await.unwrap();
    servers[0].kill().unwrap();
    tokio::time::sleep(EXPIRY + SECOND).await;
    assert!(!guard.is_lost(), "renewed on the others");
    one_holder(&servers[1..], name);
    servers[1].kill().unwrap();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert_eq!(lost.expect("an end"), LossCause::Deadline);
    let error = guard.protect(std::future::ready(())).await.unwrap_err();
    assert!(!error.to_string().contains("token"), "{error}");
    let error = guard.release().await.unwrap_err().to_string();
    assert!(
        error.contains("deadline") && !error.contains("token"),
        "{error}"
    );
    free_everywhere(&servers[2..], name).await;
}

#[tokio::test]
async fn a_hold_survives_a_rolling_restart_of_empty_nodes() {
    let (name, servers) = ("rolling", servers(3));
    for server in &servers {
        up_for(server, EXPIRY + SECOND).await;
    }
    let builder = patient().expiry(EXPIRY).durable_nodes(false);
    let lock = build(builder.nodes(over(&servers)), name).await;
    let guard = lock.lock().await.unwrap();
    let id = one_holder(&servers, name);
    for server in &servers {
        server.restart_empty().unwrap();
        eventually("taken again", || holder(server, name).as_ref() == Some(&id)).await;
        // It counts after an expiry, which the next renewal notices.
        up_for(server, EXPIRY * 3 / 2 + SECOND * 2).await;
        assert!(!guard.is_lost(), "held all the while");
    }
    assert_eq!(one_holder(&servers, name), id);
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn a_hold_that_a_quorum_has_forgotten_is_lost_at_once() {
    let (name, servers) = ("forgotten-by-most", servers(3));
    let lock = contender(&servers, name).await;
    let guard = lock.lock().await.unwrap();
    for server in &servers[1..] {
        server.command(&["DEL", name]).unwrap();
    }
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert_eq!(lost.expect("at the next renewal"), LossCause::Taken);
    free_everywhere(&servers, name).await;
}
