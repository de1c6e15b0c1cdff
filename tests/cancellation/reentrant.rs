//! Reentrant locks and their guards.

use std::time::Duration;

use tenure::{Holder, ReentrantLock};

use super::world::{World, everywhere};

fn lock(world: &World) -> ReentrantLock {
    let lock = world.us.reentrant_lock("m").unwrap();
    lock.held_by(&Holder::new("us"))
}

#[tokio::test(start_paused = true)]
async fn lock_and_nest() {
    everywhere(async |world| {
        let lock = lock(world);
        async move {
            let outer = lock.acquire().await.unwrap();
            let inner = lock.acquire().await.unwrap();
            drop((outer, inner));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn try_lock() {
    everywhere(async |world| {
        let lock = lock(world);
        async move {
            drop(lock.try_acquire().await);
            drop(lock.acquire_within(Duration::from_millis(100)).await);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn unlock() {
    everywhere(async |world| {
        let lock = lock(world);
        lock.acquire().await.unwrap().keep();
        async move { drop(lock.release_kept().await) }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn release() {
    everywhere(async |world| {
        let lock = lock(world);
        let outer = lock.acquire().await.unwrap();
        let inner = lock.acquire().await.unwrap();
        async move {
            outer.release().await.unwrap();
            inner.release().await.unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn scope_and_protect() {
    everywhere(async |world| {
        let lock = world.us.reentrant_lock("m").unwrap();
        async move {
            let work = async {
                let guard = lock.acquire().await.unwrap();
                let work = tokio::time::sleep(Duration::from_millis(100));
                guard.protect(work).await.unwrap();
            };
            Holder::new("us").scope(work).await;
        }
    })
    .await;
}
