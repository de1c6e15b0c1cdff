//! What the builder refuses, and how it says so.

use std::time::Duration;

use tenure::{CombinationBuilder, CombinationLock, ErrorKind};
use tenure_testkit::servers::Redis;

use super::support::*;

async fn refused(builder: CombinationBuilder) -> tenure::Error {
    builder.build("m").await.expect_err("must not be built")
}

#[tokio::test]
async fn settings_that_make_no_sense_are_told_with_what_would() {
    let two = || CombinationLock::builder().nodes(["redis://a", "redis://b"]);
    let three = || two().node("redis://c");
    for (builder, hint) in [
        (CombinationLock::builder(), "at least two nodes"),
        (
            CombinationLock::builder().node("redis://a"),
            "at least two nodes",
        ),
        (two().min_available(1), "use 2 or more"),
        (two().min_available(3), "from 2 to 2"),
        (
            three().expiry(Duration::from_millis(700)),
            "at least three acquire timeouts",
        ),
        (three().command_timeout(Duration::ZERO), "longer than zero"),
        (three().probe_max(Duration::ZERO), "15 minutes"),
        (
            two().node("redis://B:6379/3"),
            "node 3 is the server of node 2",
        ),
        (
            two().node("no url"),
            "node 3: a store URL begins with a scheme",
        ),
        (
            two().node("postgres://c"),
            "node 3: a node of a combination lock is one Redis server",
        ),
        (
            two().node("redis+cluster://c"),
            "node 3: a node of a combination lock is one Redis",
        ),
        (two().node("redis://c?ttl=3s"), "set it with expiry"),
        (
            two().node("redis://c?call_timeout=soon"),
            "node 3: the option \"call_timeout\"",
        ),
    ] {
        let error = refused(builder).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(hint), "{hint}: {error}");
    }
    let builder = two().spin_wait(Duration::from_nanos(1));
    assert!(!format!("{builder:?}").is_empty());
    let error = three().build("").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "a name that is none");
}

#[tokio::test]
async fn a_node_that_cannot_be_used_is_named_and_secrets_are_not() {
    let secret = "s3cret-of-node";
    let open = Redis::start().unwrap();
    let shut = Redis::builder().password(secret).start().unwrap();
    let dead = Redis::start().unwrap();
    dead.kill().unwrap();
    let with = |second: String| patient().node(url(open.port())).node(second);
    let error = refused(with(url(dead.port()))).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let place = format!("node 2 (redis://127.0.0.1:{})", dead.port());
    assert!(error.to_string().contains(&place), "{error}");
    let guess = format!("redis://:{secret}-wrong@127.0.0.1:{}", shut.port());
    let error = refused(with(guess)).await;
    assert_eq!(error.kind(), ErrorKind::Denied);
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("node 2 (redis://:***@127.0.0.1") && !text.contains(secret),
        "{text}"
    );
    let right = format!("redis://:{secret}@127.0.0.1:{}", shut.port());
    let builder = with(right);
    assert!(!format!("{builder:?}").contains(secret));
    let lock = build(builder, "secrets").await;
    assert!(!format!("{lock:?}").contains(secret));
    shut.kill().unwrap();
    let error = lock.try_acquire().await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("node 2 (redis://:***@") && !text.contains(secret),
        "{text}"
    );
}

#[tokio::test]
async fn usual_settings_and_automatic_timeouts_do_for_a_quiet_machine() {
    let servers = servers(2);
    let lock = CombinationLock::builder()
        .auto_command_timeout()
        .node(url(servers[0].port()))
        .durable_node(format!("{}?call_timeout=2s", url(servers[1].port())))
        .durable_nodes(true)
        .build("auto")
        .await
        .unwrap();
    let holder = tenure::Holder::new("auto");
    // A busy machine may take longer: then it is tried again.
    let guard = tokio::time::timeout(PATIENCE, lock.held_by(&holder).acquire()).await;
    guard.expect("in time").unwrap().release().await.unwrap();
    let plain = CombinationLock::builder().nodes(over(&servers));
    plain.build("plain").await.unwrap().close().await.unwrap();
}
