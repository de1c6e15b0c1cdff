//! Nodes that forget a holder, or end its lease early, without a restart that
//! would tell.

use std::time::{Duration, Instant};

use tenure::combination::Mode;
use tenure_testkit::servers::Redis;

use super::support::*;

/// A renewal, at half of it, does not come between two steps of a test, however busy the machine.
const EXPIRY: Duration = Duration::from_secs(16);

/// How a node forgets.
#[derive(Clone, Copy, Debug)]
enum How {
    Flushed,
    Evicted,
    /// Its clock steps forward.
    Stepped,
}

const WAYS: [How; 3] = [How::Flushed, How::Evicted, How::Stepped];

fn forget(server: &Redis, name: &str, how: How) {
    let set = |key: &str, value: &str| server.command(&["CONFIG", "SET", key, value]).unwrap();
    match how {
        How::Flushed => drop(server.command(&["FLUSHALL"]).unwrap()),
        How::Evicted => {
            set("maxmemory-policy", "allkeys-random");
            set("maxmemory", "1");
            // A write makes room first.
            let _ = server.command(&["SET", "x", "1"]);
            set("maxmemory", "0");
        }
        How::Stepped => server.set_clock(EXPIRY).unwrap(),
    }
    let end = Instant::now() + PATIENCE;
    while holder(server, name).is_some() {
        assert!(Instant::now() < end, "{how:?}: it remembers");
    }
}

fn servers_with_clocks() -> Vec<Redis> {
    let start = |_| Redis::builder().own_clock().unwrap().start().unwrap();
    (0..3).map(start).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_of_three_that_forgets_lets_nobody_in() {
    for (number, how) in WAYS.into_iter().enumerate() {
        for mode in [Mode::Leftmost, Mode::Majority] {
            let servers = servers_with_clocks();
            let name = format!("one-forgets-{number}");
            let builder = || brisk(EXPIRY).mode(mode).nodes(over(&servers));
            let (owner, rival) = (build(builder(), &name).await, build(builder(), &name).await);
            let guard = owner.acquire().await.unwrap();
            let first = one_holder(&servers, &name);
            forget(&servers[0], &name, how);
            // A busy machine may be too slow for an answer: then it is tried again.
            eventually_async("an answer", async || match rival.try_acquire().await {
                Ok(tried) => {
                    assert!(tried.is_none(), "{how:?}, {mode:?}: two hold");
                    true
                }
                Err(_) => false,
            })
            .await;
            // The holder has it again at its next renewal.
            eventually("taken back", || {
                holder(&servers[0], &name).as_ref() == Some(&first)
            })
            .await;
            assert!(!guard.is_lost(), "{how:?}, {mode:?}");
            guard.release().await.unwrap();
        }
    }
}

/// The bound: where a quorum forgets, another wins, and the first believes
/// until its renewal is refused, or until its own deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quorum_that_forgets_lets_two_hold_for_less_than_an_expiry() {
    for (number, how) in WAYS.into_iter().enumerate() {
        let servers = servers_with_clocks();
        let name = format!("two-forget-{number}");
        let builder = || {
            let builder = brisk(EXPIRY).mode(Mode::Majority);
            builder.nodes(over(&servers))
        };
        let (owner, rival) = (build(builder(), &name).await, build(builder(), &name).await);
        let guard = owner.acquire().await.unwrap();
        forget(&servers[0], &name, how);
        forget(&servers[1], &name, how);
        let began = Instant::now();
        let second = tokio::time::timeout(PATIENCE, rival.acquire()).await;
        let second = second.expect("in time").unwrap();
        let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
        lost.expect("it believes for ever");
        assert!(began.elapsed() < EXPIRY, "{how:?}: {:?}", began.elapsed());
        second.release().await.unwrap();
    }
}
