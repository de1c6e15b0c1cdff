//! What lies in Redis, what it costs, and what goes wrong there.

use std::time::Duration;

use tenure::clock::Clock;
use tenure::lock::ReentrantOptions;
use tenure::model::{LeaseTerms, MutexName};
use tenure::{Coordinator, ErrorKind, LossCause};
use tenure_testkit::servers::Redis;

use crate::support::{by, coordinator, eventually, fresh, shared, soon, url};

fn ask(server: &Redis, words: &[&str]) -> String {
    server.command(words).unwrap()
}

fn expiring(millis: u64) -> ReentrantOptions {
    ReentrantOptions::default().with_expiry(Duration::from_millis(millis))
}

#[tokio::test]
async fn the_hash_has_holder_count_and_expiry() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("layout");
    let lock = ours.reentrant_lock_with(&name, expiring(30_000)).unwrap();
    let lock = by(&lock, "worker-3");
    let outer = lock.acquire().await.unwrap();
    let field = ask(server, &["HKEYS", &name]);
    let parts: Vec<&str> = field.split(':').collect();
    assert_eq!((parts[0].len(), parts[1]), (36, "worker-3"), "{field}");
    assert_eq!(ask(server, &["HGET", &name, &field]), "1");
    let left: u64 = ask(server, &["PTTL", &name]).parse().unwrap();
    assert!((10_000..=30_000).contains(&left), "{left}");
    let inner = lock.acquire().await.unwrap();
    assert_eq!(ask(server, &["HGET", &name, &field]), "2");
    let third = lock.acquire().await.unwrap();
    assert_eq!(ask(server, &["HGET", &name, &field]), "3");
    third.release().await.unwrap();
    assert_eq!(ask(server, &["HGET", &name, &field]), "2");
    drop(inner);
    eventually("a drop is shown too", async || {
        ask(server, &["HGET", &name, &field]) == "1"
    })
    .await;
    outer.release().await.unwrap();
    assert_eq!(ask(server, &["EXISTS", &name]), "0");
    let token = format!("redisson_lock_token:{{{name}}}");
    let days: u64 = ask(server, &["TTL", &token]).parse().unwrap();
    assert!(days > 6 * 86_400, "our own fence ends some day: {days}");
    ours.close().await.unwrap();
}

#[tokio::test]
async fn an_opened_store_has_the_layout_of_a_connected_one() {
    let server = shared();
    let store = tenure::stores::open(&url(server).parse().unwrap(), Clock::boot()).await;
    let ours = Coordinator::with_backend(store.unwrap(), LeaseTerms::default()).unwrap();
    let name = fresh("opened");
    let lock = by(&ours.reentrant_lock(&name).unwrap(), "worker");
    let guard = lock.acquire().await.unwrap();
    assert_eq!(ask(server, &["TYPE", &name]), "hash");
    let names = [MutexName::new(&name).unwrap()];
    assert_eq!(ours.reentrant_locks(&names).await.unwrap().len(), 1);
    guard.release().await.unwrap();
    ours.close().await.unwrap();
}

#[tokio::test]
async fn each_step_is_one_command() {
    let server = Redis::start().unwrap();
    let ours = coordinator(&server).await;
    let lock = by(&ours.reentrant_lock("cost").unwrap(), "a");
    drop(lock.acquire().await.unwrap());
    eventually("free", async || ask(&server, &["EXISTS", "cost"]) == "0").await;
    ask(&server, &["CONFIG", "RESETSTAT"]);
    let mut guards = Vec::new();
    for _ in 0..5 {
        guards.push(lock.acquire().await.unwrap());
    }
    while let Some(guard) = guards.pop() {
        guard.release().await.unwrap();
    }
    let stats = ask(&server, &["INFO", "commandstats"]);
    let calls = stats
        .lines()
        .find(|line| line.starts_with("cmdstat_evalsha:"));
    assert!(
        calls.is_some_and(|line| line.contains("calls=10,")),
        "{stats}"
    );
    assert!(!stats.contains("subscribe"), "nobody waited: {stats}");
    ours.close().await.unwrap();
}

#[tokio::test]
async fn it_is_renewed_while_held_and_free_after_a_crash() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("renewed");
    let waiting = by(&ours.reentrant_lock(&name).unwrap(), "next");
    // A process of its own, which dies: its runtime stops, nothing is said.
    let (url, held) = (url(server), name.clone());
    let crash = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let guard = runtime.block_on(async {
            let theirs = Coordinator::connect(&url).await.unwrap();
            let lock = theirs.reentrant_lock_with(&held, expiring(1_000)).unwrap();
            let guard = by(&lock, "doomed").acquire().await.unwrap();
            // Three times the expiry: it has been renewed.
            tokio::time::sleep(Duration::from_millis(3_000)).await;
            assert!(!guard.is_lost(), "renewed at half the expiry");
            (theirs, lock, guard)
        });
        std::mem::forget(guard);
        runtime.shutdown_background();
    });
    tokio::task::spawn_blocking(move || crash.join().unwrap())
        .await
        .unwrap();
    let next = soon("the expiry ends it", waiting.acquire()).await.unwrap();
    next.release().await.unwrap();
    ours.close().await.unwrap();
}

#[tokio::test]
async fn a_hold_that_the_store_forgot_is_found_out_by_the_next_nested_lock() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("forgotten");
    let lock = by(&ours.reentrant_lock(&name).unwrap(), "a");
    let outer = lock.acquire().await.unwrap();
    ask(server, &["DEL", &name]);
    let error = lock.acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert_eq!(outer.token().unwrap_err().cause, LossCause::Taken);
    assert_eq!(
        ask(server, &["EXISTS", &name]),
        "0",
        "nothing was taken again"
    );
    let again = lock.try_acquire().await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Lost, "the old guard must go first");
    drop(outer);
    let fresh = soon("a new hold", lock.acquire()).await.unwrap();
    fresh.release().await.unwrap();
    ours.close().await.unwrap();
}

#[tokio::test]
async fn what_a_person_must_mend_is_told() {
    let server = shared();
    let ours = coordinator(server).await;
    let (persisted, foreign) = (fresh("persisted"), fresh("foreign"));
    ask(server, &["HSET", &persisted, "somebody:1", "1"]);
    ask(server, &["SET", &foreign, "a string"]);
    for (name, hint) in [(&persisted, "no expiry"), (&foreign, "something else")] {
        let lock = by(&ours.reentrant_lock(name).unwrap(), "a");
        let error = soon("an error", lock.acquire()).await.unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
    }
    ours.close().await.unwrap();
}

/// The line that docs/stores/redis.md prints.
const PERMISSIONS: &str = "~jobs:* ~redisson_lock_token:{jobs:* &redisson_lock__channel:{jobs:* \
    +evalsha +eval +script|load +get +set +del +pttl +ttl +pexpire +hset +hexists +hkeys +publish \
    +subscribe +unsubscribe +time +ping +hello";

#[tokio::test]
async fn the_documented_permissions_are_enough() {
    let docs = std::fs::read_to_string("docs/stores/redis.md").unwrap();
    let line = format!("user app on >secret resetkeys resetchannels -@all {PERMISSIONS}");
    assert!(docs.contains(&line), "docs/stores/redis.md has not: {line}");
    let server = Redis::start().unwrap();
    let mut words: Vec<&str> = vec!["ACL", "SETUSER", "app", "on", ">secret"];
    words.extend(PERMISSIONS.split_whitespace());
    ask(&server, &words);
    let url = format!("redis://app:secret@127.0.0.1:{}", server.port());
    let (here, there) = (
        Coordinator::connect(&url).await.unwrap(),
        Coordinator::connect(&url).await.unwrap(),
    );
    let options = ReentrantOptions::default().with_spin_wait(Duration::from_secs(600));
    let lock = by(&here.reentrant_lock("jobs:nightly").unwrap(), "a");
    let other = there.reentrant_lock_with("jobs:nightly", options).unwrap();
    let other = by(&other, "b");
    let outer = lock.acquire().await.unwrap();
    let inner = lock.acquire().await.unwrap();
    assert_eq!(ask(&server, &["HVALS", "jobs:nightly"]), "2", "it is shown");
    let waiting = tokio::spawn(async move { other.acquire().await.unwrap() });
    let channel = "redisson_lock__channel:{jobs:nightly}";
    let listens = async || ask(&server, &["PUBSUB", "NUMSUB", channel]).ends_with('1');
    eventually("it listens", listens).await;
    drop((outer, inner));
    drop(soon("woken", waiting).await.unwrap());
    here.close().await.unwrap();
    there.close().await.unwrap();
}
