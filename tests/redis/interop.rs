//! Ours and JVM peers on one mutex.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Hint, Interest};
use tenure_testkit::Whole as _;

use crate::jvm::Jvm;
use crate::support::{
    PATIENCE, Waiter, bid, client, eventually, fresh, held, long, lose, shared, terms, win,
};

const LEASE: Duration = Duration::from_secs(60);

fn queue(mutex: &str) -> String {
    let key = format!("simba:{{{mutex}}}:contender");
    shared().command(&["ZRANGE", &key, "0", "-1"]).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_hand_the_mutex_to_each_other_by_push() {
    let ours = client(shared()).await;
    let mutex = fresh("both");
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    let own = format!("simba:{{{mutex}}}:jvm");
    let all = format!("simba:{{{mutex}}}");
    let mut held = win(&ours, &bid(&mutex, "rust", long())).await;
    assert_eq!(jvm.hears(), format!("{all} acquired@@rust"));
    for _ in 0..3 {
        assert!(!jvm.acquire(LEASE), "ours has it");
        assert!(ours.release(&held).await.unwrap().is_won());
        assert_eq!(jvm.hears(), format!("{own} released@@rust"));
        assert!(jvm.acquire(LEASE), "it was told, and nobody is in its way");
        assert_eq!(jvm.hears(), format!("{all} acquired@@jvm"));
        let mut waiter = Waiter::stand(&ours, bid(&mutex, "rust", long())).await;
        let owner = ours.owner(&mutex).await.unwrap();
        assert!(owner.owner().is_owner(&"jvm".parse().unwrap()));
        assert_eq!(owner.owner().token(), None, "a JVM owner has none");
        assert!(jvm.renew(LEASE) && jvm.release());
        let next = waiter.win(&ours).await;
        assert_eq!(jvm.hears(), format!("{all} acquired@@rust"));
        let seen = format!("{all}:seen");
        let left = shared().command(&["EXISTS", &seen]).unwrap();
        assert_eq!(left, "0", "whoever owns is no waiter");
        assert!(next.token > held.token, "tokens rise over a JVM owner");
        held = next;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_winner_left_in_the_queue_is_healed() {
    let ours = client(shared()).await;
    let mutex = fresh("healed");
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    win(&ours, &bid(&mutex, "rust", terms(200, 100))).await;
    assert!(!jvm.acquire(LEASE));
    eventually("the lease's end", async || jvm.acquire(LEASE).then_some(())).await;
    assert_eq!(queue(mutex.as_str()), "jvm", "it has won and stays queued");
    let mut waiter = Waiter::stand(&ours, bid(&mutex, "rust", long())).await;
    assert_eq!(queue(mutex.as_str()), "rust", "a refusal removes the owner");
    // Else the JVM release would have woken itself.
    assert!(jvm.release());
    waiter.win(&ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_jvm_waiters_cost_nothing() {
    let ours = client(shared()).await;
    let mutex = fresh("dead");
    let held = win(&ours, &bid(&mutex, "rust", long())).await;
    for number in 0..3 {
        assert!(!Jvm::deaf(shared(), mutex.as_str(), &format!("dead{number}")).acquire(LEASE));
    }
    // A whole second sorts before the fractions in it: they stand before ours.
    let mut waiter = Waiter::stand(&ours, bid(&mutex, "next", long())).await;
    assert!(queue(mutex.as_str()).starts_with("dead"));
    assert!(ours.release(&held).await.unwrap().is_won());
    waiter.win(&ours).await;
    assert_eq!(queue(mutex.as_str()), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_waiter_that_hears_and_does_not_come_costs_one_reservation() {
    let ours = client(shared()).await;
    let mutex = fresh("silent");
    let held = win(&ours, &bid(&mutex, "rust", long())).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(!jvm.acquire(LEASE));
    let mut waiter = Waiter::stand(&ours, bid(&mutex, "next", long())).await;
    let released = Instant::now();
    assert!(ours.release(&held).await.unwrap().is_won());
    let hint = tokio::time::timeout(PATIENCE, waiter.hints.next())
        .await
        .unwrap();
    assert_eq!(hint, Some(Hint::Turn), "the one who stands by is told too");
    let answer = ours.acquire(&waiter.bid).await.unwrap();
    if !answer.is_won() {
        let left = answer.owner().remaining(answer.now()).unwrap();
        assert!(left <= Duration::from_millis(250), "{left:?}");
        tokio::time::sleep(left + Duration::from_millis(2)).await;
        win(&ours, &waiter.bid).await;
    } else {
        assert!(
            released.elapsed() > Duration::from_millis(250),
            "the JVM peer was overtaken"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_waiter_that_was_told_is_not_overtaken_by_ours() {
    let url = format!("{}?reserve=15s", crate::support::url(shared()));
    let ours = crate::support::open(&url).await;
    let mutex = fresh("told");
    let held = win(&ours, &bid(&mutex, "rust", long())).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(!jvm.acquire(LEASE));
    assert!(ours.release(&held).await.unwrap().is_won());
    // It is free and has no waiters: the mark alone keeps it.
    lose(&ours, &bid(&mutex, "late", long()).without_queue()).await;
    assert!(jvm.acquire(LEASE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_by_a_jvm_owner_leaves_no_fence_behind() {
    let ours = client(shared()).await;
    let mutex = fresh("no-fence");
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(jvm.acquire(LEASE));
    lose(&ours, &bid(&mutex, "rust", long()).without_queue()).await;
    let fence = format!("simba:{{{mutex}}}:fence");
    assert_eq!(shared().command(&["EXISTS", &fence]).unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_owner_that_comes_and_goes_quickly_holds_nobody_up() {
    let ours = client(shared()).await;
    let mutex = fresh("quick");
    let held = win(&ours, &bid(&mutex, "rust", long())).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(!jvm.acquire(LEASE));
    let mut waiter = Waiter::stand(&ours, bid(&mutex, "next", long())).await;
    assert!(ours.release(&held).await.unwrap().is_won());
    let _understudy = tokio::time::timeout(PATIENCE, waiter.hints.next())
        .await
        .unwrap();
    assert!(jvm.acquire(LEASE) && jvm.release());
    // Told by the JVM release: by that hint alone, however short the turn was.
    waiter.win(&ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_owner_with_our_id_is_somebody_else() {
    let ours = client(shared()).await;
    let mutex = fresh("twin");
    let mine = bid(&mutex, "twin", terms(200, 100));
    let held = win(&ours, &mine).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "twin");
    eventually("the lease's end", async || jvm.acquire(LEASE).then_some(())).await;
    let renewed = ours
        .renew(std::slice::from_ref(&held))
        .await
        .remove(0)
        .unwrap();
    assert!(!renewed.is_won(), "its lease is over: {renewed:?}");
    assert!(!ours.release(&held).await.unwrap().is_won());
    ours.leave(&mine).await.unwrap();
    lose(&ours, &bid(&mutex, "twin", long())).await;
    lose(&ours, &mine).await;
    assert!(jvm.renew(LEASE), "the JVM owner was left alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_grant_frees_nothing_of_a_later_one_with_the_same_id() {
    let ours = client(shared()).await;
    let mutex = fresh("later");
    let first = win(&ours, &bid(&mutex, "twin", terms(200, 100))).await;
    let later = bid(&mutex, "twin", long());
    let second = eventually("the lease's end", async || {
        let answer = ours.acquire(&later).await.expect("an answer");
        held(&later, &answer)
    })
    .await;
    // It has no waiters, so that the short way decides.
    assert_eq!(queue(mutex.as_str()), "");
    assert!(!ours.release(&first).await.unwrap().is_won());
    let renewed = ours.renew(std::slice::from_ref(&second)).await.remove(0);
    assert!(renewed.unwrap().is_won(), "the later grant was left alone");
    assert!(ours.release(&second).await.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidates_and_observers_hear_of_jvm_owners() {
    let ours = client(shared()).await;
    let mutex = fresh("observed");
    let mut hints = ours.changes(&Interest::in_owner(&mutex));
    let channel = format!("simba:{{{mutex}}}");
    eventually("a subscription", async || {
        let count = shared().command(&["PUBSUB", "NUMSUB", &channel]).unwrap();
        (count.lines().nth(1) == Some("1")).then_some(())
    })
    .await;
    // What is no event is ignored.
    for nonsense in [
        "",
        "acquired",
        "acquired@@",
        "@@",
        "hello",
        "acquired@@a@@b",
    ] {
        shared().command(&["PUBLISH", &channel, nonsense]).unwrap();
    }
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(jvm.acquire(LEASE));
    let hint = tokio::time::timeout(PATIENCE, hints.next()).await.unwrap();
    assert_eq!(hint, Some(Hint::Changed));
    let more = tokio::time::timeout(Duration::from_millis(100), hints.next()).await;
    assert!(more.is_err(), "the nonsense was no hint: {more:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_owner_is_listed_without_the_token_of_a_dead_grant() {
    let ours = client(shared()).await;
    let mutex = fresh("listed");
    let held = win(&ours, &bid(&mutex, "rust", long())).await;
    let token = async || {
        let page = tenure::backend::Page::of([mutex.clone()]);
        let listing = ours.list(&page).await.unwrap();
        listing.entries.first().map(|entry| entry.token)
    };
    assert_eq!(token().await, Some(Some(held.token)));
    assert!(ours.release(&held).await.unwrap().is_won());
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(jvm.acquire(LEASE));
    assert_eq!(token().await, Some(None), "it has none");
    // While it is free, the last one is what a resource has seen.
    let waiter = Waiter::stand(&ours, bid(&mutex, "next", long())).await;
    assert_eq!(token().await, Some(None), "nor beside a waiter");
    assert!(jvm.release());
    drop(waiter);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_jvm_owner_learns_of_it_at_its_next_renewal() {
    let ours = client(shared()).await;
    let mutex = fresh("revoked");
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    assert!(jvm.acquire(LEASE));
    assert!(ours.revoke(&mutex, None).await.unwrap().is_won());
    win(&ours, &bid(&mutex, "rust", long())).await;
    assert!(!jvm.renew(LEASE), "it is told that it owns no more");
}
