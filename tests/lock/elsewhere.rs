//! Callers that are not on the coordinator's runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tenure::Coordinator;
use tenure::lock::LockOptions;
use tenure_testkit::fault::{Call, Fault};
use tokio::runtime::{Builder, Runtime};

use super::support::World;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Without any runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
}

/// A coordinator on `runtime` whose store waits by the timer of the runtime
/// that it is polled on.
fn coordinator(runtime: &Runtime) -> Coordinator {
    let _inside = runtime.enter();
    let (coordinator, faults) = World::new().with_faults();
    let delay = Fault::DelayAfter(Duration::from_millis(5));
    for call in [Call::Acquire, Call::Release] {
        faults.always(call, delay);
    }
    coordinator
}

async fn take_and_free(coordinator: &Coordinator) {
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    guard.token().unwrap();
    guard.release().await.unwrap();
}

#[test]
fn a_thread_without_a_runtime_can_take_and_free() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    for _ in 0..3 {
        block_on(take_and_free(&coordinator));
    }
}

#[test]
fn a_caller_on_another_runtime_that_ends_leaves_nothing_behind() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    for _ in 0..3 {
        let other = self::runtime();
        other.block_on(take_and_free(&coordinator));
        // Dropped in the middle of a call.
        let lock = coordinator.lock("m").unwrap();
        other.spawn(async move { drop(lock.acquire().await) });
        drop(other);
        runtime.block_on(take_and_free(&coordinator));
    }
}

#[test]
fn our_own_lingering_grant_is_in_nobodys_way() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let lingers = LockOptions::default().with_linger(Duration::from_millis(200));
    let lingers = coordinator.lock_with("m", lingers).unwrap();
    let shares = LockOptions::default().with_shared_fence();
    let shares = coordinator.lock_with("m", shares).unwrap();
    runtime.block_on(async {
        lingers.acquire().await.unwrap().release().await.unwrap();
        let guard = shares.try_acquire().await.unwrap();
        guard
            .expect("what this process left lies in its way")
            .release()
            .await
            .unwrap();
    });
}
