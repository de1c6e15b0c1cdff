//! No node of a session that lives stands in the queue without a contender that
//! knows of it: all others would wait behind it for as long as that process lives.

use std::time::Duration;

use fastrand::Rng;
use tenure::Coordinator;
use tenure::backend::{AnyBackend, Backend, Bid};
use tenure::clock::VirtualHost;
use tenure::lock::LockOptions;
use tenure::model::MutexName;
use tenure_testkit::servers::{Flow, Proxy, Way};
use tokio::time::Instant;

use crate::same_session;
use crate::support::{PATIENCE, SERVER, bid, client, coordinator, name, raw};

/// What stands before the mutex `name`.
async fn queue(raw: &zookeeper_client::Client, name: &str) -> Vec<String> {
    let listed = raw.list_children(&format!("/simba/{name}")).await;
    listed.unwrap_or_default()
}

async fn sorted_queue(raw: &zookeeper_client::Client, name: &str) -> Vec<String> {
    let mut queue = queue(raw, name).await;
    queue.sort_unstable();
    queue
}

/// Waits until nothing stands there that `is_ours`.
async fn until_gone(
    raw: &zookeeper_client::Client,
    name: &str,
    is_ours: impl Fn(&str) -> bool,
    when: &str,
) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = queue(raw, name).await;
        if !found.iter().any(|child| is_ours(child)) {
            return;
        }
        assert!(Instant::now() < end, "{when}: {found:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Gives `bid` up as a contender does: what may be there is undone, and nothing
/// else is.
async fn withdraw(store: &AnyBackend, bid: &Bid, may_have_happened: bool) {
    let end = Instant::now() + PATIENCE;
    while may_have_happened && store.leave(bid).await.is_err() {
        assert!(Instant::now() < end, "it cannot be left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A client, and another with the way that it goes.
async fn clients() -> (AnyBackend, Proxy, AnyBackend) {
    let open = async |address| client(address, "?session_timeout=30s").await.unwrap();
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let (direct, through) = (open(SERVER.address()).await, open(proxy.address()).await);
    (direct, proxy, through)
}

/// Waits until the store is connected.
async fn connected(store: &AnyBackend) {
    let end = Instant::now() + PATIENCE;
    let other = MutexName::new("another").unwrap();
    while store.owner(&other).await.is_err() {
        assert!(Instant::now() < end, "it does not connect");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_bid_that_may_stand_in_the_queue_never_says_that_it_does_not() {
    let name = name("cut");
    let (others, proxy, store) = clients().await;
    let raw = raw().await;
    // With an owner and a waiter before it, a bid reads and watches two nodes.
    let before = [bid(&name, "owner"), bid(&name, "waiter")];
    assert!(others.acquire(&before[0]).await.unwrap().is_won());
    assert!(!others.acquire(&before[1]).await.unwrap().is_won());
    let mut rounds = 0;
    for bytes in (0..).step_by(24) {
        let late = bid(&name, "late");
        connected(&store).await;
        proxy.cut_after(Way::ToClient, bytes);
        let answer = store.acquire(&late).await;
        let when = format!("cut after {bytes} bytes: {answer:?}");
        let error = match answer {
            Ok(answer) => {
                assert!(!answer.is_won(), "{when}");
                proxy.heal().unwrap();
                withdraw(&store, &late, true).await;
                break;
            }
            Err(error) => error,
        };
        rounds += 1;
        withdraw(&store, &late, error.may_have_happened()).await;
        let uuid = uuid::Uuid::from_u128(late.nonce.bits()).to_string();
        until_gone(&raw, &name, |child| child.contains(&uuid), &when).await;
    }
    assert!(rounds > 10, "only {rounds} answers were cut");
}

/// One that cannot ask for longer than a waiter may be silent has not gone without a word.
#[tokio::test]
async fn a_bid_that_asks_while_nothing_is_connected_keeps_its_place() {
    let (name, host) = (name("offline"), VirtualHost::new());
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let url = format!("zookeeper://{}?session_timeout=30s", proxy.address());
    let opened = tenure::stores::open(&url.parse().unwrap(), host.clock()).await;
    let (store, raw) = (opened.unwrap(), raw().await);
    let others = client(SERVER.address(), "?session_timeout=30s").await;
    let (others, owner) = (others.unwrap(), bid(&name, "owner"));
    assert!(others.acquire(&owner).await.unwrap().is_won());
    let waiter = bid(&name, "waiter");
    proxy.refuse().unwrap();
    proxy.cut_after(Way::ToClient, 0);
    let lost = store.acquire(&waiter).await.unwrap_err();
    assert!(lost.may_have_happened(), "{lost:?}");
    let made = sorted_queue(&raw, &name).await;
    assert_eq!(made.len(), 2, "{made:?}");
    for _ in 0..4 {
        host.advance(Duration::from_secs(20));
        store.acquire(&waiter).await.unwrap_err();
    }
    // The cleanup comes as soon as it is connected.
    proxy.heal().unwrap();
    connected(&store).await;
    assert!(!store.acquire(&waiter).await.unwrap().is_won());
    let found = sorted_queue(&raw, &name).await;
    assert_eq!(found, made, "its place is the one it had");
}

/// A creation that was lost may still arrive, after it was looked for and before the
/// next: then the bidder stands twice in the queue. One that never gives up, a campaign
/// or a schedule, would wait behind itself for as long as it lives, and all others too.
#[tokio::test]
async fn a_bid_does_not_wait_behind_a_node_of_its_own() {
    let name = name("twice");
    let (others, proxy, store) = clients().await;
    let raw = raw().await;
    let (owner, waiter) = (bid(&name, "owner"), bid(&name, "waiter"));
    let owned = others.acquire(&owner).await.unwrap();
    // Behind the owner it would inherit from it without looking.
    let between = bid(&name, "between");
    others.acquire(&between).await.unwrap();
    // The number that the late creation gets.
    let gone = bid(&name, "gone");
    others.acquire(&gone).await.unwrap();
    others.leave(&gone).await.unwrap();
    connected(&store).await;
    proxy.cut_after(Way::ToServer, 0);
    let lost = store.acquire(&waiter).await.unwrap_err();
    assert!(lost.may_have_happened(), "{lost:?}");
    connected(&store).await;
    assert!(!store.acquire(&waiter).await.unwrap().is_won());
    let uuid = uuid::Uuid::from_u128(waiter.nonce.bits());
    let start = format!("/simba/{name}/_c_{uuid}-latch-");
    let (_, stat) = raw.get_data(&format!("{start}0000000003")).await.unwrap();
    let (session, late) = (stat.ephemeral_owner, format!("{start}0000000002"));
    let creating = move || same_session::create(SERVER.address(), session, &late, "waiter");
    proxy.refuse().unwrap();
    proxy.cut().unwrap();
    tokio::task::spawn_blocking(creating).await.unwrap();
    proxy.heal().unwrap();
    connected(&store).await;
    let held = owner.held(owned.token().unwrap());
    others.leave(&between).await.unwrap();
    others.release(&held).await.unwrap();
    let end = Instant::now() + PATIENCE;
    while !store.acquire(&waiter).await.unwrap().is_won() {
        let found = queue(&raw, &name).await;
        assert!(Instant::now() < end, "it waits behind itself: {found:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(queue(&raw, &name).await.len(), 1);
    store.leave(&waiter).await.unwrap();
    until_gone(&raw, &name, |_| true, "at the end").await;
}

/// Takes the lock again and again, with little patience, until `end`.
async fn contend(
    coordinator: Coordinator,
    name: String,
    lingers: bool,
    mut chance: Rng,
    end: Instant,
) {
    let options = match lingers {
        true => LockOptions::default().with_linger(Duration::from_millis(20)),
        false => LockOptions::default(),
    };
    let lock = coordinator.lock_with(name, options).unwrap();
    while Instant::now() < end {
        let patience = Duration::from_millis(chance.u64(1..400));
        if let Ok(Some(guard)) = lock.acquire_within(patience).await {
            tokio::time::sleep(Duration::from_millis(chance.u64(0..40))).await;
            match chance.bool() {
                true => drop(guard.release().await),
                false => drop(guard),
            }
        }
        tokio::time::sleep(Duration::from_millis(chance.u64(0..20))).await;
    }
}

/// Breaks the way of one process again and again, until `end`.
async fn disturb(proxy: &Proxy, mut chance: Rng, end: Instant) {
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(chance.u64(0..150))).await;
        let way = *chance.choice(&[Way::ToServer, Way::ToClient]).unwrap();
        let mut for_ms = chance.u64(0..300);
        match chance.u8(0..8) {
            0 => proxy.cut().unwrap(),
            1 => {
                proxy.refuse().unwrap();
                proxy.cut().unwrap();
            }
            2..=4 => proxy.cut_after(way, chance.u64(0..1200)),
            5 => proxy.set(way, Flow::Hold),
            6 => proxy.set(way, Flow::Delay(Duration::from_millis(chance.u64(1..150)))),
            _ => proxy.set(way, Flow::Drip(Duration::from_millis(1))),
        }
        if chance.u8(0..10) == 0 {
            for_ms *= 5;
        }
        tokio::time::sleep(Duration::from_millis(for_ms)).await;
        if chance.bool() {
            proxy.cut().unwrap();
        }
        proxy.heal().unwrap();
    }
}

/// Two tasks in each of some processes want one lock while their ways to the server break.
/// `TENURE_STORM` says for how many seconds, `TENURE_STORM_SEED` by which chance.
#[tokio::test(flavor = "multi_thread")]
async fn when_all_have_gone_the_queue_is_empty_whatever_broke() {
    let seconds = std::env::var("TENURE_STORM").map_or(8, |text| text.parse().unwrap());
    let seed = std::env::var("TENURE_STORM_SEED")
        .map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    eprintln!("seed {seed}");
    let mut chance = Rng::with_seed(seed);
    let raw = raw().await;
    let name = name("storm");
    let mut ways = Vec::new();
    for _ in 0..4 {
        let proxy = Proxy::start(SERVER.address()).unwrap();
        let coordinator = coordinator(proxy.address(), "4s").await;
        ways.push((proxy, coordinator));
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut tasks = Vec::new();
    for (index, (_, coordinator)) in ways.iter().enumerate() {
        for _ in 0..2 {
            let (coordinator, name) = (coordinator.clone(), name.clone());
            tasks.push(tokio::spawn(contend(
                coordinator,
                name,
                index == 0,
                chance.fork(),
                end,
            )));
        }
    }
    let disturbing = ways
        .iter()
        .map(|(proxy, _)| disturb(proxy, chance.fork(), end));
    futures_util::future::join_all(disturbing).await;
    for task in tasks {
        task.await.unwrap();
    }
    until_gone(&raw, &name, |_| true, &format!("seed {seed}")).await;
    for (_, coordinator) in ways {
        coordinator.close().await.unwrap();
    }
}
