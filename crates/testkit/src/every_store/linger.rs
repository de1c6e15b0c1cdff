//! Locks that linger, on a real store and on the real clock.

use std::time::Duration;

use tenure::lock::LockOptions;
use tenure::model::LeaseTerms;
use tenure::{Coordinator, Lock};

/// Longer than anything here takes on a machine that is busy with other things.
const SOON: Duration = Duration::from_secs(30);

/// Long enough for a busy machine to be late.
const LINGER: Duration = Duration::from_millis(400);

async fn process(url: &str, ttl: Duration) -> Coordinator {
    let terms = LeaseTerms::new(ttl, ttl).unwrap();
    let builder = Coordinator::builder().terms(terms);
    builder.connect(url).await.unwrap()
}

fn lingering(coordinator: &Coordinator, name: &str) -> Lock {
    let options = LockOptions::default().with_linger(LINGER);
    coordinator.lock_with(name, options).unwrap()
}

/// Takes and frees until the grant of one round is still there in the next: a
/// machine may be too busy to come back in time.
async fn lingers(lock: &Lock) {
    let mut last = None;
    loop {
        let guard = lock.acquire().await.unwrap();
        let number = guard.token().unwrap().store();
        guard.release().await.unwrap();
        if last.replace(number) == Some(number) {
            return;
        }
    }
}

/// One that waits in another process waits for the linger, and not for the
/// lease, which outlasts the test.
pub async fn a_waiter_elsewhere_does_not_wait_for_the_lease(url: &str, name: &str) {
    let lease = SOON * 20;
    let (ours, theirs) = (process(url, lease).await, process(url, lease).await);
    let lock = lingering(&ours, name);
    lingers(&lock).await;
    let other = theirs.lock(name).unwrap();
    let guard = other.acquire_within(SOON).await.unwrap();
    let guard = guard.expect("it goes back after its linger");
    let token = guard.token().unwrap();
    guard.release().await.unwrap();
    let guard = lock.acquire_within(SOON).await.unwrap().expect("free");
    assert!(guard.token().unwrap() > token);
    guard.release().await.unwrap();
    ours.close().await.unwrap();
    theirs.close().await.unwrap();
}

/// A process that ends while it lingers is an owner that died: the others wait
/// for its lease, and no longer.
pub async fn a_process_that_dies_lingering_is_an_owner_that_died(url: &str, name: &str) {
    let ttl = Duration::from_secs(1);
    let theirs = process(url, ttl).await;
    let (url, named) = (url.to_owned(), name.to_owned());
    // All that ran of it is gone at once: nothing renews or releases.
    let dying = std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let (coordinator, lock) = runtime.block_on(async {
            let coordinator = process(&url, ttl).await;
            let lock = lingering(&coordinator, &named);
            lock.acquire().await.unwrap().release().await.unwrap();
            (coordinator, lock)
        });
        runtime.shutdown_background();
        // Not dropped, as in a process that was killed.
        std::mem::forget((coordinator, lock));
    });
    dying.join().unwrap();
    let other = theirs.lock(name).unwrap();
    let guard = other.acquire_within(SOON).await.unwrap();
    let guard = guard.expect("its lease ends");
    guard.release().await.unwrap();
    theirs.close().await.unwrap();
}
