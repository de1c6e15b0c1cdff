//! A waiter hears others, not itself; and the holder has its node again.

use std::time::Duration;

use super::support::*;

fn scripts(server: &tenure_testkit::servers::Redis) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).unwrap();
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.and_then(|rest| rest.split(',').next()?.parse().ok())
        .unwrap_or(0)
}

/// How many scripts `server` runs in `length` while `work` goes on, which may take longer on a
/// machine that has other things to do.
async fn calls_in(
    server: &tenure_testkit::servers::Redis,
    length: Duration,
    work: impl Future,
) -> u64 {
    let (before, begin) = (scripts(server), std::time::Instant::now());
    work.await;
    let calls = u128::from(scripts(server) - before);
    let calls = calls * length.as_millis() / begin.elapsed().max(length).as_millis();
    u64::try_from(calls).unwrap()
}

/// Node 1 has forgotten a holder that the others have.
async fn forgotten_by_the_first(name: &str, waiters: usize) -> u64 {
    let servers = servers(3);
    let lock = contender(&servers, name).await;
    let guard = lock.acquire().await.unwrap();
    servers[0].command(&["DEL", name]).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..waiters {
        let lock = contender(&servers, name).await;
        waiting.push(tokio::spawn(async move { lock.acquire().await.map(drop) }));
    }
    // Each has looked, and looked again once it listens.
    let channel = format!("redisson_lock__channel:{{{name}}}");
    eventually("they listen", || {
        let heard = servers[0].command(&["PUBSUB", "NUMSUB", &channel]).unwrap();
        heard.lines().nth(1).is_some_and(|number| number != "0")
    })
    .await;
    tokio::time::sleep(SECOND).await;
    let calls = calls_in(&servers[0], SECOND * 3, tokio::time::sleep(SECOND * 3)).await;
    assert!(!guard.is_lost());
    guard.release().await.unwrap();
    for waiting in waiting {
        let done = tokio::time::timeout(PATIENCE, waiting).await;
        done.expect("in time").unwrap().unwrap();
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_does_not_wake_itself() {
    let calls = forgotten_by_the_first("own-unlock", 1).await;
    // A look every 2 s: a take and its undo.
    assert!(calls <= 8, "{calls} scripts on one node in 3 s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_waiters_do_not_wake_each_other() {
    let calls = forgotten_by_the_first("each-other", 10).await;
    assert!(calls <= 80, "{calls} scripts on one node in 3 s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_that_says_unlocked_all_the_time_does_not_make_a_waiter_run() {
    let (name, servers) = ("storm", servers(2));
    let lock = contender(&servers, name).await;
    let guard = lock.acquire().await.unwrap();
    let waiter = contender(&servers, name).await;
    let waiting = tokio::spawn(async move { waiter.acquire().await.map(drop) });
    let channel = format!("redisson_lock__channel:{{{name}}}");
    eventually("it listens", || {
        let heard = servers[0].command(&["PUBLISH", &channel, "0"]).unwrap();
        heard != "0"
    })
    .await;
    let end = std::time::Instant::now() + SECOND * 2;
    let mut told = 0_u64;
    let storm = async {
        while std::time::Instant::now() < end {
            servers[0].command(&["PUBLISH", &channel, "0"]).unwrap();
            told += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let calls = calls_in(&servers[0], SECOND * 2, storm).await;
    assert!(calls <= 60, "{calls} scripts after {told} words in 2 s");
    guard.release().await.unwrap();
    let done = tokio::time::timeout(PATIENCE, waiting).await;
    done.expect("in time").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_has_a_node_again_though_others_try_there() {
    let (name, servers) = ("again", servers(3));
    let lock = build(brisk(SECOND * 6).nodes(over(&servers)), name).await;
    let guard = lock.acquire().await.unwrap();
    let id = one_holder(&servers, name);
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let builder = brisk(SECOND * 6).spin_wait(SECOND / 50);
        let lock = build(builder.nodes(over(&servers)), name).await;
        waiting.push(tokio::spawn(async move { lock.acquire().await.map(drop) }));
    }
    servers[0].command(&["DEL", name]).unwrap();
    // Within two renewals, for some of its tries meet one of theirs.
    eventually("node 1 again", || {
        holder(&servers[0], name).as_ref() == Some(&id)
    })
    .await;
    assert!(!guard.is_lost());
    guard.release().await.unwrap();
    for waiting in waiting {
        let done = tokio::time::timeout(PATIENCE, waiting).await;
        done.expect("in time").unwrap().unwrap();
    }
}
