//! The sequence diagrams of the lock's source, step by step.

use tenure::{ErrorKind, LossCause, Retry};
use tenure_testkit::servers::{Flow, Way};

use super::support::*;

#[tokio::test]
async fn no_node_is_down() {
    let (name, servers) = ("all-up", servers(3));
    let first = Remote::new(&servers, name).await;
    let (second, third) = (
        contender(&servers, name).await,
        contender(&servers, name).await,
    );
    first.ways[1].set(Way::ToServer, Flow::Hold);
    let attempt = first.begin();
    eventually("node 1 is locked", || holder(&servers[0], name).is_some()).await;
    assert!(
        second.try_acquire().await.unwrap().is_none(),
        "node 1 refuses"
    );
    assert!(holder(&servers[1], name).is_none());
    first.ways[2].set(Way::ToServer, Flow::Hold);
    first.ways[1].set(Way::ToServer, Flow::Pass);
    eventually("node 2 is locked", || holder(&servers[1], name).is_some()).await;
    assert!(
        third.try_acquire().await.unwrap().is_none(),
        "node 1 refuses"
    );
    assert!(holder(&servers[2], name).is_none());
    first.ways[2].set(Way::ToServer, Flow::Pass);
    let guard = attempt.end().await.unwrap().expect("the first has won");
    one_holder(&servers, name);
    guard.release().await.unwrap();
    for server in &servers {
        assert_eq!(holder(server, name), None, "released when it says so");
    }
}

#[tokio::test]
async fn unlocking_goes_from_right_to_left() {
    let (name, servers) = ("right-to-left", servers(3));
    let builder = patient().command_timeout(SECOND * 5).expiry(SECOND * 60);
    let remote = Remote::with(builder, &servers, name).await;
    let guard = remote.lock.acquire().await.unwrap();
    for node in [2, 1] {
        remote.ways[node].set(Way::ToClient, Flow::Hold);
    }
    let releasing = tokio::spawn(guard.release());
    for node in [2, 1] {
        eventually("the right one is free", || {
            holder(&servers[node], name).is_none()
        })
        .await;
        for left in &servers[..node] {
            assert!(holder(left, name).is_some(), "those to the left wait");
        }
        remote.ways[node].set(Way::ToClient, Flow::Pass);
    }
    releasing.await.unwrap().unwrap();
    assert_eq!(holder(&servers[0], name), None);
}

#[tokio::test]
async fn the_first_node_dies_between_two_contenders() {
    let (name, servers) = ("first-dies", servers(3));
    let first = Remote::new(&servers, name).await;
    let second = Remote::new(&servers, name).await;
    first.ways[1].set(Way::ToServer, Flow::Hold);
    let early = first.begin();
    eventually("node 1 is locked", || holder(&servers[0], name).is_some()).await;
    servers[0].kill().unwrap();
    second.ways[2].set(Way::ToServer, Flow::Hold);
    let late = second.begin();
    eventually("node 2 is locked", || holder(&servers[1], name).is_some()).await;
    let winner = holder(&servers[1], name);
    first.ways[1].set(Way::ToServer, Flow::Pass);
    assert!(
        early.end().await.unwrap().is_none(),
        "lost at node 2, at once"
    );
    assert_eq!(holder(&servers[2], name), None, "went no further");
    second.ways[2].set(Way::ToServer, Flow::Pass);
    let guard = late.end().await.unwrap().expect("came later, won first");
    assert_eq!(holder(&servers[1], name), winner);
    assert_eq!(holder(&servers[2], name), winner);
    guard.release().await.unwrap();
    free_everywhere(&servers[1..], name).await;
}

#[tokio::test]
async fn another_node_times_out() {
    let (name, servers) = ("other-silent", servers(3));
    let (first, second) = (
        contender(&servers, name).await,
        contender(&servers, name).await,
    );
    servers[1].pause().unwrap();
    let (won, refused) = tokio::join!(first.try_acquire(), async {
        eventually("node 1 is locked", || holder(&servers[0], name).is_some()).await;
        second.try_acquire().await
    });
    let guard = won.unwrap().expect("won on nodes 1 and 3");
    assert!(refused.unwrap().is_none(), "node 1 refuses");
    let id = holder(&servers[0], name);
    assert_eq!(holder(&servers[2], name), id);
    servers[1].resume().unwrap();
    eventually("what node 2 was sent arrives", || {
        holder(&servers[1], name) == id
    })
    .await;
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

pub(crate) async fn one_more_time_with_just_enough_nodes() {
    let (name, servers) = ("one-more-time", servers(2));
    // The first is between its nodes for as long as all this takes.
    let builder = || brisk(SECOND * 13).command_timeout(SECOND * 2);
    let first = Remote::with(builder(), &servers, name).await;
    let second = build(builder().nodes(over(&servers)), name).await;
    first.ways[1].set(Way::ToServer, Flow::Hold);
    let attempt = first.begin();
    eventually("node 1 is locked", || holder(&servers[0], name).is_some()).await;
    blocking(|| servers[0].kill());
    let error = second.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(error.retry(), Retry::Later);
    first.ways[1].set(Way::ToServer, Flow::Pass);
    let guard = attempt.end().await.unwrap().expect("may finish");
    assert!(!guard.is_lost());
    // With one node left it cannot be renewed.
    let lost = tokio::time::timeout(PATIENCE, guard.lost());
    assert_eq!(lost.await.expect("an end").cause, LossCause::Deadline);
    drop(guard);
    free_everywhere(&servers[1..], name).await;
}
