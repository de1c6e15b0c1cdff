//! Servers for all tests that do not break them, and names of their own.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::{Coordinator, Holder, ReentrantLock};
use tenure_testkit::servers::Redis;

/// How long anything may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The server that no test breaks.
pub(crate) fn shared() -> &'static Redis {
    static SERVER: LazyLock<Redis> = LazyLock::new(|| Redis::start().expect("a Redis server"));
    &SERVER
}

pub(crate) fn url(server: &Redis) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

pub(crate) async fn coordinator(server: &Redis) -> Coordinator {
    Coordinator::connect(url(server)).await.unwrap()
}

/// A name that no other test uses.
pub(crate) fn fresh(text: &str) -> String {
    format!("{text}-{:08x}", fastrand::u32(..))
}

/// The lock in the hands of a holder of this name.
pub(crate) fn by(lock: &ReentrantLock, name: &str) -> ReentrantLock {
    lock.held_by(&Holder::new(name))
}

/// Waits until `is` says so.
pub(crate) async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is().await {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Fails when `work` takes for ever.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(PATIENCE, work).await;
    limited.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}
