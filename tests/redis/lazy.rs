//! Coordinators that connect when they are first used.

use tenure::{Coordinator, ErrorKind};
use tenure_testkit::servers::Redis;

use crate::support::{PATIENCE, eventually, url};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_later_is_waited_for() {
    let server = Redis::start().unwrap();
    server.stop().unwrap();
    let lazy = Coordinator::connect_lazy(url(&server)).unwrap();
    assert!(lazy.connected().is_none() && lazy.trouble().is_none());
    let taking = {
        let lazy = lazy.clone();
        tokio::spawn(async move {
            let coordinator = lazy.get().await?;
            coordinator.lock("m")?.acquire().await
        })
    };
    eventually("the first attempt has failed", async || lazy.trouble()).await;
    assert_eq!(lazy.trouble().unwrap().kind(), ErrorKind::Unreachable);
    assert!(!taking.is_finished());
    server.start().unwrap();
    let guard = tokio::time::timeout(PATIENCE, taking).await.unwrap();
    let guard = guard.unwrap().unwrap();
    assert!(lazy.connected().is_some() && lazy.trouble().is_none());
    guard.release().await.unwrap();
    lazy.close().await.unwrap();
    assert_eq!(lazy.get().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_can_be_closed_before_it_ever_connected() {
    let server = Redis::start().unwrap();
    server.stop().unwrap();
    let lazy = Coordinator::connect_lazy(url(&server)).unwrap();
    let waiting = lazy.clone();
    let waiting = tokio::spawn(async move { waiting.get().await.map(drop) });
    eventually("it tries", async || lazy.trouble()).await;
    let closed = tokio::time::timeout(PATIENCE, lazy.close()).await;
    closed.expect("it does not wait for the server").unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn what_no_retry_can_help_is_said() {
    let server = Redis::builder()
        .set("requirepass", "right")
        .start()
        .unwrap();
    let wrong = format!("redis://:wrong@127.0.0.1:{}", server.port());
    let lazy = Coordinator::connect_lazy(&wrong).unwrap();
    let error = tokio::time::timeout(PATIENCE, lazy.get()).await.unwrap();
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Denied);
}

#[test]
fn a_wrong_url_is_known_at_once() {
    for wrong in [
        "nope:x",
        "memory:?colour=red",
        "memory:?ttl=soon",
        "sqlite:x?colour=red",
        "redis://h?colour=red",
        "mysql://u@h/db?colour=red",
        "postgres://u@h/db?colour=red",
        "zookeeper://h?colour=red",
    ] {
        let error = Coordinator::connect_lazy(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{wrong}: {error}");
    }
    let shown = format!(
        "{:?}",
        Coordinator::connect_lazy("redis://:s3cret@h").unwrap()
    );
    assert!(!shown.contains("s3cret"), "{shown}");
}
