//! Never two at once, while a node is killed and restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tenure::{CombinationLock, Holder};
use tenure_testkit::servers::Redis;

use super::support::*;

const LENGTH: Duration = Duration::from_secs(6);

/// What everybody writes to, who believes to hold.
#[derive(Default)]
struct Judge {
    inside: AtomicU32,
    two_at_once: AtomicU32,
    turns: [AtomicU32; 2],
}

impl Judge {
    async fn turn(&self, process: usize, lock: &CombinationLock) {
        let Ok(Some(guard)) = lock.acquire_within(SECOND * 2).await else {
            return;
        };
        if self.inside.fetch_add(1, Ordering::SeqCst) > 0 {
            self.two_at_once.fetch_add(1, Ordering::SeqCst);
        }
        let pause = Duration::from_millis(fastrand::u64(0..6));
        let _ = guard.protect(tokio::time::sleep(pause)).await;
        self.turns[process].fetch_add(1, Ordering::SeqCst);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        if fastrand::bool() {
            let _ = guard.release().await;
        }
    }
}

/// Kills one node again and again; each time it comes back empty.
async fn trouble(victim: &Redis, end: Instant) {
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(100..900))).await;
        blocking(|| victim.kill());
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..700))).await;
        blocking(|| victim.restart_empty());
    }
}

pub(crate) async fn never_two_at_once_while_the_first_node_dies_and_returns() {
    let (name, servers) = ("stress", servers(3));
    let expiry = SECOND * 4;
    for server in &servers {
        up_for(server, expiry + SECOND).await;
    }
    let judge = Arc::new(Judge::default());
    let end = Instant::now() + LENGTH;
    let mut tasks = Vec::new();
    for process in 0..2 {
        let builder = brisk(expiry).durable_nodes(false);
        let lock = builder.nodes(over(&servers)).build(name).await.unwrap();
        for number in 0..3 {
            let lock = lock.held_by(&Holder::new(format!("{process}-{number}")));
            let judge = Arc::clone(&judge);
            tasks.push(tokio::spawn(async move {
                while Instant::now() < end {
                    judge.turn(process, &lock).await;
                }
            }));
        }
    }
    trouble(&servers[0], end).await;
    for task in tasks {
        tokio::time::timeout(PATIENCE, task)
            .await
            .expect("an end")
            .unwrap();
    }
    assert_eq!(judge.two_at_once.load(Ordering::SeqCst), 0);
    for turns in &judge.turns {
        let turns = turns.load(Ordering::SeqCst);
        assert!(turns >= 10, "{turns} turns in {LENGTH:?}");
    }
    free_everywhere(&servers, name).await;
}
