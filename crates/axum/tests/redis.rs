//! The highest tokens in a real Redis.

#[allow(dead_code)] // each test uses a part of it
mod shared;

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use shared::{newest, patient, service, token, write};
use tenure::Coordinator;
use tenure_axum::{Candidate, HighestSeen, InRedis, Readiness, Refusal, fenced_set};
use tenure_testkit::servers::{Redis, RedisCluster, wait};

async fn place() -> (Redis, MultiplexedConnection) {
    let server = tokio::task::spawn_blocking(Redis::start).await;
    let server = server.unwrap().unwrap();
    let client = redis::Client::open(format!("redis://{}", server.address())).unwrap();
    let patient = AsyncConnectionConfig::new().set_response_timeout(Some(wait::LIMIT));
    let connection = client.get_multiplexed_async_connection_with_config(&patient);
    (server, connection.await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_keeps_what_it_promises() {
    let (_server, connection) = place().await;
    let seen = Arc::new(InRedis::new(connection));
    shared::every_digit_counts(&*seen).await;
    shared::the_highest_never_falls(seen.clone()).await;

    let app = service(patient(InRedis::clone(&seen)));
    assert_eq!(write(&app, "/accounts/7", 1 << 60).await.0, 200);
    let (status, body) = write(&app, "/accounts/7", (1 << 60) - 1).await;
    assert_eq!(status, 409);
    assert!(body.contains(r#""newest":"1152921504606846976""#), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_owner_writes_nothing() {
    let (server, mut connection) = place().await;
    let [old, new] = [1 << 53, (1 << 53) + 1].map(token);
    let get = |key: &str| server.command(&["GET", key]).unwrap();
    for key in ["account:7", "{account:8}"] {
        fenced_set(&mut connection, key, old, "100").await.unwrap();
        fenced_set(&mut connection, key, new, "80").await.unwrap();
        let late = fenced_set(&mut connection, key, old, "0").await;
        assert_eq!(newest(late), Some(new.value()));
        assert_eq!(get(key), "80");
        // The gate knows what was written, and the other way round.
        let seen = InRedis::new(connection.clone());
        assert_eq!(newest(seen.admit(key, old).await), Some(new.value()));
    }
    assert_eq!(get("{account:7}:fence"), new.to_string());
    assert_eq!(get("{account:8}:fence"), new.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_left_in_the_fence_admits_nobody() {
    let (server, connection) = place().await;
    let seen = InRedis::new(connection);
    for odd in ["", "x", "-1", "1.5", "7 ", "1e3"] {
        server.command(&["SET", "{one}:fence", odd]).unwrap();
        let answer = seen.admit("one", token(1 << 60)).await;
        assert!(
            matches!(answer, Err(Refusal::Failed(_))),
            "{odd:?}: {answer:?}"
        );
        assert_eq!(server.command(&["GET", "{one}:fence"]).unwrap(), odd);
    }
    server.command(&["SET", "{one}:fence", "0007"]).unwrap();
    assert_eq!(newest(seen.admit("one", token(6)).await), Some(7));
    assert_eq!(newest(seen.admit("one", token(8)).await), None);
    server.command(&["DEL", "{one}:fence"]).unwrap();
    server.command(&["LPUSH", "{one}:fence", "7"]).unwrap();
    assert!(matches!(
        seen.admit("one", token(9)).await,
        Err(Refusal::Failed(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_admitted_while_redis_is_silent() {
    let (server, connection) = place().await;
    let gate = patient(InRedis::new(connection));
    assert_eq!(write(&service(gate.clone()), "/accounts/7", 1).await.0, 200);
    server.pause().unwrap();
    let impatient = service(gate.clone().with_limit(Duration::from_millis(300)));
    assert_eq!(write(&impatient, "/accounts/7", 2).await.0, 503);
    server.resume().unwrap();
    let app = service(gate);
    assert_eq!(write(&app, "/accounts/7", 3).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_ready_only_while_its_clock_agrees_with_the_servers() {
    let (server, _) = place().await;
    let url = format!("redis://{}", server.address());
    let [here, there] = [Coordinator::connect(&url), Coordinator::connect(&url)];
    let (here, there) = (here.await.unwrap(), there.await.unwrap());
    let _guard = there.lock("billing").unwrap().acquire().await.unwrap();
    let elector = here.elector("billing").unwrap();
    let _campaign = elector.campaign().unwrap();
    let candidate = Candidate::new(&here, &elector)
        .unwrap()
        .with_limit(wait::LIMIT);
    assert_eq!(candidate.readiness().await, Readiness::Waiting);
    let strict = candidate.with_clocks_apart(Duration::ZERO);
    let answer = strict.readiness().await.to_string();
    assert!(answer.starts_with("the store's clock is "), "{answer}");
}

#[test]
fn in_a_cluster_the_fence_lies_beside_its_key() {
    let cluster = RedisCluster::start().unwrap();
    let slot = |key| cluster.nodes()[0].command(&["CLUSTER", "KEYSLOT", key]);
    for (key, fence) in [
        ("account:7", "{account:7}:fence"),
        ("{account}:7", "{account}:7:fence"),
    ] {
        assert_eq!(slot(key).unwrap(), slot(fence).unwrap(), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lives_brings_back_what_redis_forgets() {
    let (server, connection) = place().await;
    let begin = || InRedis::new(connection.clone());
    shared::a_server_that_lives_does_not_forget(begin, async || {
        server.command(&["FLUSHALL"]).unwrap();
    })
    .await;
}
