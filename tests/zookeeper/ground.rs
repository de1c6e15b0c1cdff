//! What these tests stand on.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure_testkit::servers::ZooKeeper;

/// One server for all tests that do not hurt it.
pub static SERVER: LazyLock<ZooKeeper> = LazyLock::new(|| ZooKeeper::start().unwrap());

/// Generous: other work loads the machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A client at `hosts`, with `rest` of the URL behind them.
pub async fn client(hosts: impl std::fmt::Display, rest: &str) -> tenure::Result<AnyBackend> {
    let url = format!("zookeeper://{hosts}{rest}").parse()?;
    tenure::stores::open(&url, Clock::boot()).await
}
