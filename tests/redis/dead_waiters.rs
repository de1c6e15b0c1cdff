//! A queue full of waiters whose processes are gone: no other suffers.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::Backend;
use tenure::model::MutexName;
use tenure_testkit::servers::Redis;

use crate::jvm::Jvm;
use crate::support::{
    PATIENCE, Waiter, bid, calls, client, eventually, long, lose, name, open, queue, terms, url,
    win,
};

/// How many dead a single script may remove.
const BOUND: u64 = 16;

/// Puts so many dead waiters of ours at the head of the queue. Those that are
/// `known` have looked once, a minute ago, as a killed process leaves them.
fn insert_dead(server: &Redis, mutex: &MutexName, number: u64, known: bool) {
    const INSERT: &str = "
        local now = redis.call('TIME')
        for at = tonumber(ARGV[1]), tonumber(ARGV[3]) do
          local score = string.format('%d.%06d', now[1] - 1000000, at)
          redis.call('ZADD', KEYS[1], score, 'dead-' .. at)
          if ARGV[2] == '1' then
            redis.call('ZADD', KEYS[2], string.format('%.0f', (now[1] - 60) * 1000), 'dead-' .. at)
          end
        end";
    let (line, seen) = (
        format!("simba:{{{mutex}}}:contender"),
        format!("simba:{{{mutex}}}:seen"),
    );
    let known = if known { "1" } else { "0" };
    // In pieces: a busy machine takes long for all at once.
    for first in (1..=number).step_by(5_000) {
        let last = number.min(first + 4_999).to_string();
        let first = first.to_string();
        let eval = ["EVAL", INSERT, "2", &line, &seen, &first, known, &last];
        server.command_within(&eval, PATIENCE * 3).unwrap();
    }
}

fn waiting(server: &Redis, mutex: &MutexName) -> u64 {
    let key = format!("simba:{{{mutex}}}:contender");
    server.command(&["ZCARD", &key]).unwrap().parse().unwrap()
}

/// What the server has done since it was asked last.
struct Done {
    scripts: u64,
    messages: u64,
    removals: u64,
}

fn done(server: &Redis) -> Done {
    Done {
        scripts: calls(server, "evalsha") + calls(server, "eval"),
        messages: calls(server, "publish"),
        removals: calls(server, "zrem"),
    }
}

/// No script did more than it may, on the average of all since `before`: one
/// that did a thousand would show.
fn assert_bounded(server: &Redis, before: &Done) -> Done {
    let now = done(server);
    let scripts = now.scripts - before.scripts;
    let (messages, removals) = (
        now.messages - before.messages,
        now.removals - before.removals,
    );
    // The dead at the head, those behind the one that is told, and a word to
    // it and to all.
    let most = scripts * (2 * BOUND + 3);
    assert!(messages <= most, "{messages} messages in {scripts} scripts");
    assert!(
        removals <= 2 * most,
        "{removals} removals in {scripts} scripts"
    );
    Done {
        scripts,
        messages,
        removals,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_past_a_hundred_thousand_dead_blocks_nobody() {
    const DEAD: u64 = 100_000;
    let server = Redis::start().unwrap();
    // A waiter that is told has as long as it takes to come: it would not be told again.
    let url = format!("{}?reserve=15s", url(&server));
    let (owner, there) = (open(&url).await, open(&url).await);
    let mutex = name("m");
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    insert_dead(&server, &mutex, DEAD, false);
    let mut first = Waiter::stand(&there, bid(&mutex, "first", long())).await;
    let mut second = Waiter::stand(&there, bid(&mutex, "second", long())).await;
    let before = done(&server);
    let start = Instant::now();
    assert!(owner.release(&held).await.unwrap().is_won());
    println!("released after {:?}", start.elapsed());
    // By what they hear alone, and in their order.
    let held = first.win_within(PATIENCE * 20, &there).await;
    println!("the first behind {DEAD} dead: {:?}", start.elapsed());
    let work = assert_bounded(&server, &before);
    println!(
        "{} scripts, {} messages, {} removals",
        work.scripts, work.messages, work.removals
    );
    assert!(work.scripts >= DEAD / BOUND, "{}", work.scripts);
    assert!(there.release(&held).await.unwrap().is_won());
    second.win(&there).await;
    assert_eq!(waiting(&server, &mutex), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_looks_removes_those_who_have_not_looked_for_long() {
    const DEAD: u64 = 2_000;
    let server = Redis::start().unwrap();
    let owner = client(&server).await;
    let mutex = name("m");
    win(&owner, &bid(&mutex, "owner", long())).await;
    insert_dead(&server, &mutex, DEAD, true);
    // A JVM waiter never says that it lives: it is not taken for dead.
    let jvm = Jvm::new(&server, "m", "jvm");
    assert!(!jvm.acquire(Duration::from_secs(10)));
    let before = done(&server);
    // One that waits is enough, while the owner stays.
    let there = client(&server).await;
    let waiter = Waiter::stand(&there, bid(&mutex, "lives", long())).await;
    let gone = async || (waiting(&server, &mutex) == 2).then_some(());
    eventually("only the living are left", gone).await;
    assert_eq!(queue(&server, "m"), ["jvm", "lives"]);
    let work = assert_bounded(&server, &before);
    assert!(work.scripts >= DEAD / BOUND, "{}", work.scripts);
    let seen = server.command(&["ZRANGE", "simba:{m}:seen", "0", "-1"]);
    assert_eq!(seen.unwrap().trim(), "lives");
    there.leave(&waiter.bid).await.unwrap();
    let seen = server.command(&["EXISTS", "simba:{m}:seen"]);
    assert_eq!(seen.unwrap(), "0", "who leaves leaves nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_of_the_killed_does_not_grow_while_an_owner_stays() {
    let server = Redis::start().unwrap();
    let here = client(&server).await;
    let mutex = name("m");
    win(&here, &bid(&mutex, "owner", long())).await;
    // As 40 waiters that were killed a while ago, one after the other; each
    // came after the one before had been dead for long.
    for round in 0..40 {
        lose(&here, &bid(&mutex, &format!("w{round}"), long())).await;
        let age = "local all = redis.call('ZRANGE', KEYS[1], 0, -1)
            for _, id in ipairs(all) do redis.call('ZADD', KEYS[1], 1000, id) end";
        let seen = "simba:{m}:seen";
        server.command(&["EVAL", age, "1", seen]).unwrap();
        assert!(waiting(&server, &mutex) <= 2, "in round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_taken_for_dead_comes_back_to_its_place() {
    let server = Redis::start().unwrap();
    let here = client(&server).await;
    let mutex = name("m");
    let held = win(&here, &bid(&mutex, "owner", long())).await;
    let mut stopped = Waiter::stand(&here, bid(&mutex, "stopped", long())).await;
    let mut next = Waiter::stand(&here, bid(&mutex, "next", long())).await;
    // As after a stop of a minute.
    server
        .command(&["ZADD", "simba:{m}:seen", "1000", "stopped"])
        .unwrap();
    lose(&here, &next.bid).await;
    assert_eq!(queue(&server, "m"), ["next"], "nobody waits for it");
    lose(&here, &stopped.bid).await;
    assert_eq!(queue(&server, "m"), ["stopped", "next"]);
    assert!(here.release(&held).await.unwrap().is_won());
    let held = stopped.win(&here).await;
    assert!(here.release(&held).await.unwrap().is_won());
    next.win(&here).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_free_mutex_behind_many_dead_is_won_at_the_first_try() {
    let server = Redis::start().unwrap();
    let here = client(&server).await;
    let mutex = name("m");
    for dead in [15, 16, 17, 1_000] {
        insert_dead(&server, &mutex, dead, false);
        let before = done(&server);
        let held = win(&here, &bid(&mutex, "taker", long()).without_queue()).await;
        assert_bounded(&server, &before);
        assert_eq!(waiting(&server, &mutex), 0);
        assert!(here.release(&held).await.unwrap().is_won());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_overtakes_the_living_while_the_dead_are_cleared_away() {
    let server = Redis::start().unwrap();
    let (owner, there, third) = (
        client(&server).await,
        client(&server).await,
        client(&server).await,
    );
    let mutex = name("m");
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    insert_dead(&server, &mutex, 5_000, false);
    let mut first = Waiter::stand(&there, bid(&mutex, "first", long())).await;
    assert!(owner.release(&held).await.unwrap().is_won());
    let newcomer = bid(&mutex, "newcomer", long()).without_queue();
    let answer = third.acquire(&newcomer).await.unwrap();
    assert!(!answer.is_won(), "past one that waits: {answer:?}");
    first.win(&there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_behind_the_dead_of_a_killed_owner_has_its_turn() {
    const DEAD: u64 = 3_000;
    let server = Redis::start().unwrap();
    let owner = client(&server).await;
    let mutex = name("m");
    win(&owner, &bid(&mutex, "owner", terms(1_500, 500))).await;
    insert_dead(&server, &mutex, DEAD, false);
    // It is not released: the lease runs out, and who waits clears the way.
    let coordinator = Coordinator::connect(url(&server)).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let before = done(&server);
    let guard = tokio::time::timeout(PATIENCE * 3, lock.acquire()).await;
    let guard = guard.expect("in time").unwrap();
    assert_bounded(&server, &before);
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_waiter_behind_the_dead_is_told() {
    let server = Redis::start().unwrap();
    let owner = client(&server).await;
    let mutex = name("m");
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    insert_dead(&server, &mutex, 1_000, false);
    let jvm = Jvm::new(&server, "m", "jvm");
    assert!(!jvm.acquire(Duration::from_secs(10)));
    assert!(owner.release(&held).await.unwrap().is_won());
    assert_eq!(jvm.hears(), "simba:{m}:jvm released@@owner");
    assert!(jvm.acquire(Duration::from_secs(10)));
}
