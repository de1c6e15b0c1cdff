//! What happens to a server and to the way there.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Hint};
use tenure::model::LeaseTerms;
use tenure::{Coordinator, ErrorKind, LossCause};
use tenure_testkit::servers::{Flow, Proxy, Redis, Way};

use crate::support::{
    PATIENCE, Waiter, bid, calls, client, eventually, held, long, name, open, terms, url, win,
};

async fn coordinator(url: &str, terms: LeaseTerms) -> Coordinator {
    Coordinator::builder()
        .terms(terms)
        .connect(url)
        .await
        .unwrap()
}

/// Waits for a turn that comes by push.
async fn is_told(waiter: &mut Waiter) {
    let told = async { while waiter.hints.next().await.expect("open") != Hint::Turn {} };
    tokio::time::timeout(PATIENCE, told).await.expect("a turn");
}

async fn is_resumed(waiter: &mut Waiter) {
    let told = async { while waiter.hints.next().await.expect("open") != Hint::Resumed {} };
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("a word that it goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_flush_is_not_noticed() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let mutex = name("m");
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    let held = win(&client, &bid(&mutex, "a", long())).await;
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    assert!(
        client
            .renew(std::slice::from_ref(&held))
            .await
            .remove(0)
            .unwrap()
            .is_won()
    );
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    assert!(client.release(&held).await.unwrap().is_won());
    // The fallback has taught the server the script again.
    win(&client, &bid(&mutex, "a", long())).await;
    let texts = calls(&server, "eval");
    win(&client, &bid(&name("n"), "a", long())).await;
    assert_eq!(calls(&server, "eval"), texts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_with_data_within_the_transition_costs_nothing() {
    let server = Redis::builder().durable().start().unwrap();
    let coordinator = coordinator(&url(&server), terms(1_000, 9_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let rival = client(&server).await;
    server.restart().unwrap();
    // Renewed on the new connection: it outlives what it had left.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(guard.token().unwrap(), token);
    let tried = eventually("the rival is back", async || {
        rival
            .acquire(&bid(&name("m"), "rival", long()).without_queue())
            .await
            .ok()
    })
    .await;
    assert!(
        !tried.is_won() && tried.owner().token() == Some(token),
        "{tried:?}"
    );
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_without_data_loses_the_tenure_and_tokens_rise() {
    let server = Redis::start().unwrap();
    let coordinator = coordinator(&url(&server), terms(500, 5_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    server.restart().unwrap();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(
        lost.cause,
        LossCause::Taken,
        "the store says that it is gone"
    );
    drop(guard);
    let again = coordinator.lock("m").unwrap().acquire().await.unwrap();
    assert!(again.token().unwrap() > token);
    again.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flushall_while_held_is_found_at_the_next_renewal() {
    let server = Redis::start().unwrap();
    let coordinator = coordinator(&url(&server), terms(500, 5_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    server.command(&["FLUSHALL"]).unwrap();
    let rival = client(&server).await;
    let theirs = win(&rival, &bid(&name("m"), "rival", long())).await;
    assert!(theirs.token > token, "also when the fence is gone");
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.cause, LossCause::Taken);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_come_back_and_every_waiter_looks_again() {
    let server = Redis::start().unwrap();
    let (owner, there) = (client(&server).await, client(&server).await);
    let mutex = name("m");
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    let mut waiters = Vec::new();
    for number in 0..5 {
        let bid = bid(&mutex, &format!("w{number}"), long());
        waiters.push(Waiter::stand(&there, bid).await);
    }
    for kind in ["pubsub", "normal"] {
        // The connection that asks is the server's own choice to spare.
        server
            .command(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])
            .unwrap();
        if kind == "pubsub" {
            for waiter in &mut waiters {
                is_resumed(waiter).await;
            }
        }
    }
    let answer = eventually("released over a new connection", async || {
        owner.release(&held).await.ok()
    })
    .await;
    assert!(answer.is_won());
    is_told(&mut waiters[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_nobody_heard_is_found_by_looking() {
    let server = Redis::start().unwrap();
    let owner = client(&server).await;
    let held = win(&owner, &bid(&name("m"), "owner", long())).await;
    let coordinator = coordinator(&url(&server), long()).await;
    let lock = coordinator.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    eventually("it waits", async || {
        (calls(&server, "subscribe") >= 1).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    // As if the message were lost: no script of ours frees it.
    server
        .command(&["DEL", "simba:{m}", "simba:{m}:grant"])
        .unwrap();
    let start = Instant::now();
    let guard = tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "the safety look: {:?}",
        start.elapsed()
    );
    assert!(!owner.release(&held).await.unwrap().is_won());
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_pause_within_the_transition_costs_nothing() {
    let server = Redis::start().unwrap();
    let coordinator = coordinator(&url(&server), terms(1_000, 9_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    server.command(&["CLIENT", "PAUSE", "3000", "ALL"]).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        guard.token().is_ok(),
        "the pause was shorter than the transition"
    );
    assert!(
        guard.remaining() > Duration::from_secs(5),
        "{:?}",
        guard.remaining()
    );
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_replies_are_waited_for() {
    let server = Redis::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let client = open(&format!("redis://127.0.0.1:{}", proxy.port())).await;
    proxy.set(Way::ToClient, Flow::Delay(Duration::from_millis(900)));
    // Later than the supervisor's patience, but PING is answered: the
    // connection stays, and so does the call.
    let held = win(&client, &bid(&name("m"), "a", long())).await;
    assert!(
        client
            .renew(std::slice::from_ref(&held))
            .await
            .remove(0)
            .unwrap()
            .is_won()
    );
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_found_again_under_the_same_nonce() {
    let server = Redis::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let client = open(&format!("redis://127.0.0.1:{}", proxy.port())).await;
    let mine = bid(&name("m"), "a", long());
    proxy.cut_after(Way::ToClient, 0);
    let error = client.acquire(&mine).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.may_have_happened(), "{error:?}");
    let answer = eventually("an answer", async || client.acquire(&mine).await.ok()).await;
    let grant = held(&mine, &answer).expect("its own grant");
    let stored = server.command(&["GET", "simba:{m}:grant"]).unwrap();
    assert_eq!(stored, format!("{} {}", grant.token.store(), mine.nonce));
    assert_eq!(calls(&server, "evalsha"), 2);
    client.leave(&mine).await.unwrap();
    assert_eq!(server.command(&["EXISTS", "simba:{m}"]).unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_open_flow_is_replaced() {
    let server = Redis::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let direct = client(&server).await;
    let there = open(&format!(
        "redis://127.0.0.1:{}?ttl=2s&transition=1s",
        proxy.port()
    ))
    .await;
    let mutex = name("m");
    let owner = win(&direct, &bid(&mutex, "owner", long())).await;
    let mut waiter = Waiter::stand(&there, bid(&mutex, "waiter", long())).await;
    // The flows there are fall silent for ever; a new one would pass.
    proxy.silence();
    let silent = tokio::time::timeout(Duration::from_millis(300), there.owner(&mutex)).await;
    assert!(silent.is_err(), "nothing passes");
    let back = eventually("commands pass again", async || {
        tokio::time::timeout(Duration::from_millis(500), there.owner(&mutex))
            .await
            .ok()?
            .ok()
    })
    .await;
    assert!(back.owner().is_owner(&"owner".parse().unwrap()));
    is_resumed(&mut waiter).await;
    assert!(direct.release(&owner).await.unwrap().is_won());
    waiter.win(&there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_gone_calls_fail_at_once() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let mine = bid(&name("m"), "a", long());
    win(&client, &bid(&name("m"), "owner", long())).await;
    let mut idle = Waiter::stand(&client, bid(&name("m"), "idle", long())).await;
    server.kill().unwrap();
    eventually("it is noticed", async || client.acquire(&mine).await.err()).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let start = Instant::now();
    for _ in 0..100 {
        let error = client.acquire(&mine).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(!error.may_have_happened(), "nothing was sent");
    }
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    server.start().unwrap();
    let held = eventually("it is back", async || {
        let answer = client.acquire(&mine).await.ok()?;
        held(&mine, &answer)
    })
    .await;
    // Who waited and did nothing else hears again, without help.
    is_resumed(&mut idle).await;
    client.acquire(&idle.bid).await.unwrap();
    assert!(client.release(&held).await.unwrap().is_won());
    idle.win(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_is_survived_within_the_transition() {
    let server = Redis::start().unwrap();
    let coordinator = coordinator(&url(&server), terms(1_000, 9_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    server.pause().unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(guard.token().unwrap(), token, "its lease has not ended");
    server.resume().unwrap();
    let renewed = async || (guard.remaining() > Duration::from_secs(8)).then_some(());
    eventually("renewed", renewed).await;
    assert_eq!(guard.token().unwrap(), token);
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silence_longer_than_the_lease_is_a_loss_before_anybody_wins() {
    let server = Redis::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let behind = format!("redis://127.0.0.1:{}", proxy.port());
    let coordinator = coordinator(&behind, terms(1_000, 1_000)).await;
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let rival = client(&server).await;
    let theirs = bid(&name("m"), "rival", long());
    proxy.partition();
    let won = eventually("the lease's end", async || {
        let answer = rival.acquire(&theirs).await.unwrap();
        // Judged at the moment of the win, by the guard's own deadline.
        held(&theirs, &answer).map(|held| (held, guard.token().is_err()))
    })
    .await;
    assert!(won.1, "two owners at one moment");
    assert!(won.0.token > token);
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.cause, LossCause::Deadline);
    proxy.heal().unwrap();
}
