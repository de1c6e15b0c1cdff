//! Twenty seconds without a server.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Hint};
use tenure_testkit::servers::Redis;

use crate::support::{
    PATIENCE, Waiter, bid, calls, client, eventually, long, name, terms, url, win,
};

const OUTAGE: Duration = Duration::from_secs(20);

/// Who listens, waits or owns when `stop` happens goes on after `start`.
async fn everybody_recovers(stop: impl Fn(&Redis), start: impl Fn(&Redis)) {
    // Its data survives; a lease goes on in what a server has on disk.
    let server = Redis::builder().durable().start().unwrap();
    let (owner, idle) = (client(&server).await, client(&server).await);
    let wanted = win(&owner, &bid(&name("wanted"), "owner", long())).await;
    let watched = win(&owner, &bid(&name("watched"), "owner", long())).await;
    let mut listener = Waiter::stand(&idle, bid(&name("watched"), "idle", long())).await;
    let coordinator = Coordinator::builder().terms(terms(2_000, 58_000));
    let coordinator = coordinator.connect(url(&server)).await.unwrap();
    let guard = coordinator.lock("held").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let lock = coordinator.lock("wanted").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    let both = async || (calls(&server, "subscribe") >= 2).then_some(());
    eventually("both who listen", both).await;
    stop(&server);
    tokio::time::sleep(OUTAGE).await;
    assert_eq!(guard.token().unwrap(), token, "its lease is longer");
    assert!(!waiting.is_finished(), "{waiting:?}");
    start(&server);
    let renewed = async || (guard.remaining() > Duration::from_secs(50)).then_some(());
    eventually("renewed", renewed).await;
    assert_eq!(guard.token().unwrap(), token);
    // Not one call of its client has noticed anything: it recovers by itself.
    let resumed = async { while listener.hints.next().await.unwrap() != Hint::Resumed {} };
    tokio::time::timeout(PATIENCE, resumed)
        .await
        .expect("heard again");
    // Its calls go over another connection. One that came before that is back would be
    // lost, and a waiter of this test is told but once.
    let back = async || idle.owner(&name("watched")).await.ok();
    eventually("the listener's calls are answered", back).await;
    let freed = async |held| {
        let free = async || owner.release(held).await.ok();
        assert!(eventually("the owner is back", free).await.is_won());
    };
    freed(&watched).await;
    listener.win(&idle).await;
    freed(&wanted).await;
    let next = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    let next = next.unwrap().expect("who waits goes on waiting");
    assert!(next.token().unwrap() > wanted.token);
    next.release().await.unwrap();
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_seconds_without_a_server_are_survived() {
    tokio::join!(
        everybody_recovers(
            |server| server.kill().unwrap(),
            |server| server.start().unwrap(),
        ),
        everybody_recovers(
            |server| server.pause().unwrap(),
            |server| server.resume().unwrap(),
        ),
    );
}
