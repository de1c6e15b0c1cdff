//! What a copy of the process does to what its parent owns: nothing.

use crate::Coordinator;
use crate::clock::Clock;
use crate::engine::Birth;
use crate::stores::memory::Memory;

#[tokio::test(start_paused = true)]
async fn a_fork_frees_nothing_of_its_parents() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let builder = Coordinator::builder().clock(clock);
    let ours = builder.with_backend(store.another_client()).unwrap();
    let lock = ours.lock("m").unwrap();
    let dropped = lock.acquire().await.unwrap();
    // Dropped in the fork; its tasks run there as well.
    Birth::in_a_fork(|| drop(dropped));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(lock.owner().await.unwrap().is_some(), "it is the parent's");
}

#[tokio::test(start_paused = true)]
async fn a_release_in_a_fork_fails_and_changes_nothing() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let builder = Coordinator::builder().clock(clock);
    let ours = builder.with_backend(store.another_client()).unwrap();
    let lock = ours.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let mut releasing = Box::pin(guard.release());
    let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = Birth::in_a_fork(|| {
        let polled = releasing.as_mut().poll(&mut nobody);
        drop(releasing);
        polled
    });
    assert!(!matches!(polled, std::task::Poll::Ready(Ok(_))));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(lock.owner().await.unwrap().is_some(), "it is the parent's");
}
