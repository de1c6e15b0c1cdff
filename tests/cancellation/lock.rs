//! Locks and their guards.

use std::time::Duration;

use super::world::{World, everywhere};

async fn guard(world: &World) -> tenure::LockGuard {
    world.us.lock("m").unwrap().acquire().await.unwrap()
}

fn lock(world: &World) -> tenure::Lock {
    world.us.lock("m").unwrap()
}

#[tokio::test(start_paused = true)]
async fn acquire() {
    everywhere(async |world| {
        let lock = lock(world);
        async move { drop(lock.acquire().await.unwrap()) }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn acquire_within() {
    for millis in [100, 2000] {
        everywhere(async |world| {
            let lock = lock(world);
            let wait = Duration::from_millis(millis);
            async move { drop(lock.acquire_within(wait).await) }
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn try_acquire() {
    everywhere(async |world| {
        let lock = lock(world);
        async move { drop(lock.try_acquire().await) }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn owner() {
    everywhere(async |world| {
        let lock = lock(world);
        async move { drop(lock.owner().await) }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn release() {
    everywhere(async |world| {
        let guard = guard(world).await;
        async move { guard.release().await.unwrap() }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn protect() {
    everywhere(async |world| {
        let guard = guard(world).await;
        async move {
            let work = tokio::time::sleep(Duration::from_millis(100));
            guard.protect(work).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost() {
    everywhere(async |world| {
        let guard = guard(world).await;
        let options = tenure::LockOptions::default().with_max_hold(Duration::from_millis(100));
        guard.release().await.unwrap();
        let lock = world.us.lock_with("m", options).unwrap();
        let guard = lock.acquire().await.unwrap();
        async move {
            guard.lost().await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn release_of_what_is_held_for_at_least_a_time() {
    everywhere(async |stage| {
        let options = tenure::LockOptions::default().with_at_least_for(Duration::from_millis(100));
        let lock = stage.us.lock_with("m", options).unwrap();
        let guard = lock.acquire().await.unwrap();
        async move { guard.release().await.unwrap() }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn once_per() {
    everywhere(async |stage| {
        let lock = lock(stage);
        async move { drop(lock.once_per(Duration::from_secs(60)).await) }
    })
    .await;
}
