//! Holding on while nodes come and go.

use tenure::LossCause;

use super::support::*;

/// Long enough for a busy machine, short enough to see several.
const EXPIRY: std::time::Duration = std::time::Duration::from_secs(4);

pub(crate) async fn a_hold_survives_the_death_of_one_node() {
    let (name, servers) = ("one-dies", servers(3));
    let builder = brisk(EXPIRY).nodes(over(&servers));
    let lock = build(builder, name).await;
    let guard = lock.acquire().await.unwrap();
    blocking(|| servers[0].kill());
    tokio::time::sleep(EXPIRY + SECOND).await;
    assert!(!guard.is_lost(), "renewed on the others");
    one_holder(&servers[1..], name);
    blocking(|| servers[1].kill());
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    let lost = lost.expect("an end");
    assert_eq!((lost.cause, lost.token), (LossCause::Deadline, None));
    let error = guard.protect(std::future::ready(())).await.unwrap_err();
    assert!(!error.to_string().contains("token"), "{error}");
    let error = guard.release().await.unwrap_err().to_string();
    assert!(
        error.contains("deadline") && !error.contains("token"),
        "{error}"
    );
    free_everywhere(&servers[2..], name).await;
}

pub(crate) async fn a_hold_survives_a_rolling_restart_of_empty_nodes() {
    let (name, servers) = ("rolling", servers(3));
    for server in &servers {
        up_for(server, EXPIRY + SECOND).await;
    }
    let builder = brisk(EXPIRY).durable_nodes(false);
    let lock = build(builder.nodes(over(&servers)), name).await;
    let guard = lock.acquire().await.unwrap();
    let id = one_holder(&servers, name);
    for server in &servers {
        blocking(|| server.restart_empty());
        eventually("taken again", || holder(server, name).as_ref() == Some(&id)).await;
        // It counts after an expiry, which the next renewal notices.
        up_for(server, EXPIRY * 3 / 2 + SECOND * 2).await;
        assert!(!guard.is_lost(), "held all the while");
    }
    assert_eq!(one_holder(&servers, name), id);
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

pub(crate) async fn a_hold_that_a_quorum_has_forgotten_is_lost_at_once() {
    let (name, servers) = ("forgotten-by-most", servers(3));
    let lock = build(brisk(EXPIRY).nodes(over(&servers)), name).await;
    let guard = lock.acquire().await.unwrap();
    for server in &servers[1..] {
        server.command(&["DEL", name]).unwrap();
    }
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert_eq!(lost.expect("at the next renewal").cause, LossCause::Taken);
    free_everywhere(&servers, name).await;
}
