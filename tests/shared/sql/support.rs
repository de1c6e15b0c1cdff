//! One server for all tests, and clients of it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::backend::{Answer, AnyBackend, Backend, Bid, Held};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores;
use tenure_testkit::servers::Proxy;

use crate::Server;

/// The server that tests share which do not break it.
pub(crate) static SERVER: LazyLock<Server> =
    LazyLock::new(|| Server::start().unwrap_or_else(|error| panic!("{error}")));

pub(crate) async fn client(url: &str) -> tenure::Result<AnyBackend> {
    stores::open(&url.parse()?, Clock::boot()).await
}

pub(crate) fn name(name: &str) -> MutexName {
    MutexName::new(name).expect("a valid name")
}

pub(crate) fn terms(ttl: u64, transition: u64) -> LeaseTerms {
    let millis = Duration::from_millis;
    LeaseTerms::new(millis(ttl), millis(transition)).expect("valid terms")
}

/// A bid under an id of its own.
pub(crate) fn bid(mutex: &str, id: &str) -> Bid {
    let id = ContenderId::new(id).expect("a valid id");
    Bid::new(name(mutex), id, terms(10_000, 6_000)).with_unique_id()
}

/// What `bid` holds; it must win.
pub(crate) async fn win(client: &AnyBackend, bid: &Bid) -> Held {
    let answer = client.acquire(bid).await.expect("acquire");
    bid.held(
        answer
            .token()
            .unwrap_or_else(|| panic!("must win: {answer:?}")),
    )
}

pub(crate) async fn renew(client: &AnyBackend, held: &Held) -> tenure::Result<Answer> {
    client.renew(std::slice::from_ref(held)).await.remove(0)
}

/// Asks every few milliseconds until it is so.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The URL of `server`, reached through `proxy`.
pub(crate) fn through(proxy: &Proxy, server: &Server) -> String {
    let (behind, before) = (server.port().to_string(), proxy.port().to_string());
    server.url().replace(&behind, &before)
}
