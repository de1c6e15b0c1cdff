//! What these tests stand on.

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::{AnyBackend, Bid};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure_testkit::servers::ZooKeeper;

/// One server for all tests that do not hurt it.
pub(crate) static SERVER: LazyLock<ZooKeeper> = LazyLock::new(|| ZooKeeper::start().unwrap());

/// Generous: other work loads the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A client at `hosts`, with `rest` of the URL behind them.
pub(crate) async fn client(hosts: impl Display, rest: &str) -> tenure::Result<AnyBackend> {
    let url = format!("zookeeper://{hosts}{rest}").parse()?;
    tenure::stores::open(&url, Clock::boot()).await
}

/// A coordinator at `hosts`. On a loaded machine a server may take longer to
/// make a session than a short one lasts.
pub(crate) async fn coordinator(hosts: impl Display, timeout: &str) -> Coordinator {
    let url = format!("zookeeper://{hosts}?session_timeout={timeout}");
    let start = Instant::now();
    loop {
        match Coordinator::connect(&url).await {
            Ok(coordinator) => return coordinator,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{url}: {error:?}"),
        }
    }
}

/// A client of the driver itself, to make and see nodes as others would.
pub(crate) async fn raw() -> zookeeper_client::Client {
    let at = SERVER.address().to_string();
    zookeeper_client::Client::connect(&at).await.unwrap()
}

/// Makes a node that stays.
pub(crate) async fn make(raw: &zookeeper_client::Client, path: &str, data: &str) {
    let options =
        zookeeper_client::CreateMode::Persistent.with_acls(zookeeper_client::Acls::anyone_all());
    let made = raw.create(path, data.as_bytes(), &options).await;
    made.unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// A name that only the caller uses.
pub(crate) fn name(what: &str) -> String {
    format!("{what}-{:08x}", fastrand::u32(..))
}

/// A bid of `who`, which waits if it must.
pub(crate) fn bid(name: &str, who: &str) -> Bid {
    let (name, who) = (MutexName::new(name), ContenderId::new(who));
    Bid::new(name.unwrap(), who.unwrap(), LeaseTerms::default())
}

/// Waits until `holds`.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What `server` counts under `key`.
pub(crate) fn metric(server: &ZooKeeper, key: &str) -> u64 {
    let text = server.word("mntr").unwrap();
    let line = text.lines().find_map(|line| {
        let (found, value) = line.split_once('\t')?;
        (found == key).then_some(value)
    });
    let value = line.unwrap_or_else(|| panic!("no {key} in {text}"));
    value.parse::<f64>().unwrap() as u64
}
