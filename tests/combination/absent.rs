//! A node that is not there, or lets no client in, when the lock is made.

use tenure::ErrorKind;
use tenure_testkit::servers::{Proxy, Redis};

use super::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_made_while_one_node_of_three_is_dead() {
    let (name, servers) = ("one-dead", servers(3));
    servers[0].kill().unwrap();
    let lock = contender(&servers, name).await;
    let guard = lock.try_acquire().await.unwrap().expect("two are enough");
    // It comes back while the lock is held, and is locked too.
    blocking(|| servers[0].start());
    eventually("locked everywhere", || holder(&servers[0], name).is_some()).await;
    one_holder(&servers, name);
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
    // And counts: another may be missing now.
    servers[2].kill().unwrap();
    let guard = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    guard.expect("in time").unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_made_while_one_node_does_not_take_the_password() {
    let (name, servers) = ("one-shut", servers(2));
    let shut = Redis::builder().password("s3cret").start().unwrap();
    let wrong = format!("redis://:wrong@127.0.0.1:{}", shut.port());
    let lock = build(patient().nodes(over(&servers)).node(wrong), name).await;
    for _ in 0..2 {
        let guard = lock.try_acquire().await.unwrap().expect("two are enough");
        guard.release().await.unwrap();
    }
    // The password is set right, and the node is used.
    shut.command(&["CONFIG", "SET", "requirepass", "wrong"])
        .unwrap();
    eventually_async("all three", async || {
        let guard = lock.acquire().await.unwrap();
        let known = format!("redis://:wrong@127.0.0.1:{}", shut.port());
        let held = held_at(&known, name).await;
        guard.release().await.unwrap();
        held
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_may_be_given_by_options_with_a_password_that_changes() {
    use std::sync::{Arc, Mutex};
    use tenure::stores::redis::RedisOptions;

    let (name, servers) = ("asked-for", servers(2));
    let shut = Redis::builder().password("one").start().unwrap();
    let way = Proxy::start(shut.address()).unwrap();
    let password = Arc::new(Mutex::new("one".to_owned()));
    let asked = Arc::clone(&password);
    let options = RedisOptions::new(("127.0.0.1", way.port())).with_password_from(move || {
        std::future::ready(std::io::Result::Ok(asked.lock().unwrap().clone()))
    });
    let builder = patient().nodes(over(&servers)).node(options);
    let lock = build(builder.clone(), name).await;
    // With one dead, it is needed.
    servers[0].kill().unwrap();
    lock.acquire().await.unwrap().release().await.unwrap();
    let change = ["CONFIG", "SET", "requirepass", "two"];
    shut.command(&change).unwrap();
    *password.lock().unwrap() = "two".to_owned();
    way.cut().unwrap();
    eventually_async("logged in anew", async || {
        // Held until it has been looked for.
        let guard = lock.try_acquire().await;
        let won = guard.as_ref().is_ok_and(Option::is_some);
        won && held_at(&format!("redis://:two@127.0.0.1:{}", shut.port()), name).await
    })
    .await;
    // Another lock over it has a connection of its own, and asks as well.
    let another = build(builder, "another").await;
    another.acquire().await.unwrap().release().await.unwrap();
}

/// Whether `name` is held at the server of `url`.
async fn held_at(url: &str, name: &str) -> bool {
    use tenure::backend::HoldServer as _;
    let url = url.parse().unwrap();
    let holds = tenure::stores::open_holds(&url, tenure::clock::Clock::boot()).await;
    let name = tenure::model::MutexName::new(name).unwrap();
    let holds = holds.unwrap();
    let held = holds.server().unwrap().held(&[name]).await.unwrap();
    !held.is_empty()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_the_quorum_no_lock_is_made_and_every_node_is_named() {
    let servers = servers(3);
    servers[0].kill().unwrap();
    servers[2].kill().unwrap();
    let error = patient()
        .nodes(over(&servers))
        .build("m")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    let text = error.to_string();
    assert!(text.contains("2 of 3 are needed"), "{text}");
    assert!(
        text.contains("node 1 (") && text.contains("node 3 ("),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_makes_no_sense_is_an_error_though_the_others_are_enough() {
    let servers = servers(2);
    let odd = format!("{}?reserve=1ms", url(servers[0].port() + 1));
    let builder = patient().nodes(over(&servers)).node(odd);
    let error = builder.build("m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_late_and_is_another_node_has_no_vote() {
    let (name, servers) = ("late-twin", servers(2));
    // Another name for the first server, which leads nowhere for now.
    let way = Proxy::start(servers[0].address()).unwrap();
    way.refuse().unwrap();
    let builder = patient().nodes(over(&servers)).node(url(way.port()));
    let lock = build(builder, name).await;
    // A server has another id after a restart: it is known all the same.
    blocking(|| servers[0].restart());
    way.heal().unwrap();
    // Until the lock has looked for the server again, too few nodes answer.
    let works = async || loop {
        if let Ok(guard) = lock.acquire().await {
            break guard.release().await.unwrap();
        }
        tokio::time::sleep(SECOND / 10).await;
    };
    tokio::time::timeout(PATIENCE, works()).await.unwrap();
    servers[1].kill().unwrap();
    let error = eventually_error(&lock, "is the server of").await;
    assert!(
        error.contains("node 3 (") && error.contains("node 1 ("),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_come_late_and_are_one_server_have_one_vote() {
    let (name, servers) = ("late-twins", servers(4));
    // Two names for the last server, which must not say who it is for now.
    let ways = [(); 2].map(|()| Proxy::start(servers[3].address()).unwrap());
    let permit = |what| servers[3].command(&["ACL", "SETUSER", "default", what]);
    permit("-info").unwrap();
    // They come first, and are compared with each other first.
    let builder = patient().nodes(ways.iter().map(|way| url(way.port())));
    let builder = builder.nodes(over(&servers[..3]));
    let lock = build(builder, name).await;
    let guard = lock.try_acquire().await.unwrap().expect("three are enough");
    // Both may be asked at once, while the lock wants them; and it takes a
    // while to compare them with the others.
    servers[2].pause().unwrap();
    permit("+info").unwrap();
    eventually("locked there too", || holder(&servers[3], name).is_some()).await;
    servers[2].resume().unwrap();
    guard.release().await.unwrap();
    servers[0].kill().unwrap();
    servers[1].kill().unwrap();
    eventually_error(&lock, "is the server of").await;
}

/// Tries until the error says this; it must never be won.
async fn eventually_error(lock: &tenure::CombinationLock, part: &str) -> String {
    let mut last = String::new();
    let end = std::time::Instant::now() + PATIENCE;
    while std::time::Instant::now() < end {
        match lock.try_acquire().await {
            Err(error) => last = error.to_string(),
            Ok(won) => assert!(won.is_none(), "one server has voted twice"),
        }
        if last.contains(part) {
            return last;
        }
        tokio::time::sleep(SECOND / 10).await;
    }
    panic!("{part}: {last}");
}
