//! Tokens shared with Redisson's fenced lock: one resource compares both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::lock::ReentrantOptions;
use tenure_testkit::servers::Redis;

use crate::redisson::Redisson;
use crate::support::{by, coordinator, fresh, shared, soon};

const LEASE: Duration = Duration::from_secs(60);

fn sharing() -> ReentrantOptions {
    ReentrantOptions::default()
        .with_shared_fence()
        .with_expiry(LEASE)
}

/// A resource that remembers the largest number and refuses smaller ones.
#[derive(Clone, Default)]
struct Resource(Arc<Mutex<u64>>);

impl Resource {
    fn admits(&self, number: u64) -> bool {
        let mut newest = self.0.lock().unwrap();
        let admitted = number >= *newest;
        *newest = number.max(*newest);
        admitted
    }
}

fn time_to_live(server: &Redis, name: &str) -> String {
    let key = format!("redisson_lock_token:{{{name}}}");
    server.command(&["TTL", &key]).unwrap()
}

#[tokio::test]
async fn a_resource_of_both_refuses_no_newer_write_and_takes_no_stale_one() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("both");
    let lock = by(&ours.reentrant_lock_with(&name, sharing()).unwrap(), "rust");
    let peer = Redisson::new(server, &name);
    let resource = Resource::default();
    let (mut stale_ours, mut stale_theirs) = (0, 0);
    for round in 0..3 {
        let guard = lock.acquire().await.unwrap();
        let number = guard.token().unwrap().store();
        assert!(resource.admits(number), "ours after theirs, {round}");
        assert!(round == 0 || !resource.admits(stale_theirs), "a late write");
        stale_ours = number;
        // Forgotten by the store, while it goes on to believe.
        server.command(&["DEL", &name]).unwrap();
        let theirs = peer.lock_fenced(LEASE).expect("free");
        assert!(resource.admits(theirs), "theirs after ours, {round}");
        assert!(!resource.admits(stale_ours), "a late write of ours");
        // Taken again by the same thread: a larger one.
        let again = peer.lock_fenced(LEASE).expect("reentrant");
        assert!(again > theirs && resource.admits(again));
        stale_theirs = theirs;
        drop(guard);
        peer.unlock().unwrap();
        assert!(peer.unlock().unwrap());
    }
    assert!(!resource.admits(stale_ours) && !resource.admits(stale_theirs));
    ours.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_owners_of_a_process_have_the_same_shared_number() {
    const OWNERS: usize = 20;
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("crowd");
    let lock = ours.reentrant_lock_with(&name, sharing()).unwrap();
    let numbers = Arc::new(Mutex::new(Vec::new()));
    let first = by(&lock, "first").acquire().await.unwrap();
    let mut owners = Vec::new();
    for number in 0..OWNERS {
        let lock = by(&lock, &format!("owner-{number}"));
        let numbers = Arc::clone(&numbers);
        owners.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            let token = guard.token().unwrap();
            numbers.lock().unwrap().push(token.store());
            assert_eq!(token.hand_over(), 0, "from the store");
            guard.release().await.unwrap();
        }));
    }
    first.release().await.unwrap();
    for owner in owners {
        soon("its turn", owner).await.unwrap();
    }
    let numbers = numbers.lock().unwrap().clone();
    assert_eq!(numbers.len(), OWNERS);
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    ours.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shares_takes_no_hand_over_of_one_who_does_not() {
    let ours = coordinator(shared()).await;
    let name = fresh("mixed");
    let options = ReentrantOptions::default().with_expiry(LEASE);
    let plain = ours.reentrant_lock_with(&name, options).unwrap();
    let shares = ours.reentrant_lock_with(&name, sharing()).unwrap();
    let first = by(&plain, "plain").acquire().await.unwrap();
    let number = first.token().unwrap().store();
    let waiting = tokio::spawn({
        let shares = by(&shares, "shares");
        async move { shares.acquire().await.unwrap() }
    });
    // In line behind the first, in this very process.
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(first);
    let second = soon("its turn", waiting).await.unwrap();
    assert!(second.token().unwrap().store() > number);
    ours.close().await.unwrap();
}

#[tokio::test]
async fn a_shared_fence_never_ends() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("endless");
    let alone = by(&ours.reentrant_lock(&name).unwrap(), "alone");
    alone.acquire().await.unwrap().release().await.unwrap();
    assert_ne!(time_to_live(server, &name), "-1", "nobody shares it yet");
    let lock = by(&ours.reentrant_lock_with(&name, sharing()).unwrap(), "rust");
    lock.acquire().await.unwrap().release().await.unwrap();
    // Redisson's would begin at 1 again if it ended.
    assert_eq!(time_to_live(server, &name), "-1");
    alone.acquire().await.unwrap().release().await.unwrap();
    assert_eq!(time_to_live(server, &name), "-1");
    ours.close().await.unwrap();
}
