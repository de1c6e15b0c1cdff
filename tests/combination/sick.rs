//! One sick node, while a quorum is well.

use std::time::Duration;

use tenure::{CombinationLock, ErrorKind};
use tenure_testkit::servers::Redis;

use super::support::*;

fn connected(server: &Redis) -> u64 {
    let info = server.command(&["INFO", "clients"]).unwrap();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("connected_clients:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap()
}

/// Takes and gives back, twice: also after the sick node was found out.
async fn works(lock: &CombinationLock) {
    for _ in 0..2 {
        let guard = lock.try_acquire().await.unwrap().expect("two are enough");
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_key_of_a_wrong_type_on_one_node_is_passed_over() {
    let (name, servers) = ("wrong-type-one", servers(3));
    servers[1].command(&["SET", name, "text"]).unwrap();
    let lock = contender(&servers, name).await;
    works(&lock).await;
    let waiting = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    let guard = waiting.expect("in time").unwrap();
    assert!(holder(&servers[0], name).is_some() && holder(&servers[2], name).is_some());
    guard.release().await.unwrap();
    // Another lock of this process has that node all the same.
    let other = contender(&servers, "right-type").await;
    let guard = other.acquire().await.unwrap();
    one_holder(&servers, "right-type");
    guard.release().await.unwrap();
    // Mended, it is used again.
    servers[1].command(&["DEL", name]).unwrap();
    eventually_async("all three again", async || {
        let guard = lock.acquire().await.unwrap();
        let all = holder(&servers[1], name).is_some();
        guard.release().await.unwrap();
        all
    })
    .await;
}

#[tokio::test]
async fn a_missing_permission_on_one_node_is_passed_over() {
    let (name, servers) = ("denied-one", servers(3));
    let lock = contender(&servers, name).await;
    servers[0]
        .command(&["ACL", "SETUSER", "default", "-hset"])
        .unwrap();
    works(&lock).await;
    servers[0]
        .command(&["ACL", "SETUSER", "default", "+hset"])
        .unwrap();
    eventually_async("all three again", async || {
        let guard = lock.acquire().await.unwrap();
        let all = holder(&servers[0], name).is_some();
        guard.release().await.unwrap();
        all
    })
    .await;
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn a_password_that_one_node_no_longer_takes_is_passed_over() {
    let (name, servers) = ("password-one", servers(3));
    let remote = Remote::new(&servers, name).await;
    let secret = ["CONFIG", "SET", "requirepass", "s3cret"];
    servers[2].command(&secret).unwrap();
    // A client that connects from now on is not let in.
    remote.ways[2].cut().unwrap();
    works(&remote.lock).await;
}

#[tokio::test]
async fn below_the_quorum_a_sick_node_is_an_error_that_says_why() {
    let (name, servers) = ("denied-two", servers(3));
    let lock = contender(&servers, name).await;
    for server in &servers[..2] {
        server
            .command(&["ACL", "SETUSER", "default", "-hset"])
            .unwrap();
    }
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    let text = error.to_string();
    assert!(text.contains("node 1") && text.contains("node 2"), "{text}");
    assert!(text.contains("lacks a permission"), "{text}");
    assert_eq!(holder(&servers[2], name), None, "undone");
}

#[tokio::test]
async fn an_acquire_timeout_below_the_command_timeout_is_refused() {
    let builder = CombinationLock::builder()
        .nodes(["redis://a", "redis://b"])
        .command_timeout(Duration::from_millis(200))
        .acquire_timeout(Duration::from_millis(100));
    let error = builder.build("m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("200ms"), "{error}");
}

#[tokio::test]
async fn one_server_under_two_names_is_found_out() {
    let servers = servers(2);
    let twin = format!("redis://localhost:{}", servers[0].port());
    let builder = patient().nodes(over(&servers)).node(twin);
    let error = builder.build("m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let text = error.to_string();
    assert!(text.contains("node 3") && text.contains("node 1"), "{text}");
}

/// The take as a server runs it that says to be up for so long.
fn take_of_age(server: &Redis, name: &str, uptime: &str) -> String {
    let forged = format!(
        "local real = redis
         local redis = setmetatable({{ call = function(command, ...)
           if command == 'INFO' then return '# Server\\r\\n{uptime}' end
           return real.call(command, ...)
         end }}, {{ __index = real }})
         {}",
        include_str!("../../src/stores/redis/scripts/hold_take.lua")
    );
    let token = format!("redisson_lock_token:{{{name}}}");
    let take = ["EVAL", &forged, "2", name, &token];
    let take = [&take[..], &["me", "5000", "0", "1", "1", "0"]].concat();
    server.command(&take).unwrap()
}

#[test]
fn a_server_that_says_nonsense_of_its_age_is_new() {
    let server = Redis::start().unwrap();
    for (number, (uptime, said)) in [
        ("uptime_in_seconds:77\\r\\n", "77"),
        // Its clock was set back behind its start.
        ("uptime_in_seconds:-3600\\r\\n", "0"),
        ("", "0"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("aged-{number}");
        let answer = take_of_age(&server, &name, uptime);
        let parts: Vec<&str> = answer.split('\n').collect();
        assert_eq!(parts[0], "won", "{answer}");
        // Whole, for it has been written: a part that is missing is an error
        // for the caller.
        assert!(parts.len() >= 6 && parts[4] == said, "{answer:?}");
        assert_eq!(holder(&server, &name).as_deref(), Some("me"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_locks_have_one_connection_to_each_node() {
    let servers = servers(2);
    let before: Vec<u64> = servers.iter().map(connected).collect();
    let mut locks = Vec::new();
    for number in 0..200 {
        locks.push(contender(&servers, &format!("many-{number}")).await);
    }
    let mut guards = Vec::new();
    for lock in &locks {
        guards.push(lock.acquire().await.unwrap());
    }
    for (server, before) in servers.iter().zip(&before) {
        // One for commands, one for wake-ups.
        let more = connected(server) - before;
        assert!(more <= 2, "{more} connections for 200 locks");
    }
    // One that is closed takes nothing from the others.
    locks[0].close().await.unwrap();
    assert!(guards[0].is_lost() && !guards[1].is_lost());
    guards.remove(1).release().await.unwrap();
    drop(guards);
    for lock in &locks[1..] {
        lock.close().await.unwrap();
    }
    drop(locks);
    eventually("no connection is left", || {
        servers
            .iter()
            .zip(&before)
            .all(|(server, before)| connected(server) <= *before)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_found_silent_by_one_lock_is_skipped_by_all() {
    let servers = servers(3);
    let timeout = SECOND * 2 / 5;
    let builder = || patient().command_timeout(timeout).nodes(over(&servers));
    let (one, two) = (build(builder(), "one").await, build(builder(), "two").await);
    servers[2].pause().unwrap();
    one.try_acquire()
        .await
        .unwrap()
        .expect("two are enough")
        .release()
        .await
        .unwrap();
    let started = std::time::Instant::now();
    let guard = two.try_acquire().await.unwrap().expect("two are enough");
    assert!(started.elapsed() < timeout, "it was known to be silent");
    guard.release().await.unwrap();
    servers[2].resume().unwrap();
}
