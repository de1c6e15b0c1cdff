//! A server for all tests that do not break it, and clients of it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::ErrorKind;
use tenure::backend::{Answer, Backend, Bid, Held, Hints, Interest};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::redis::Redis as Client;
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

pub(crate) async fn client(server: &Redis) -> Client {
    open(&url(server)).await
}

pub(crate) async fn open(url: &str) -> Client {
    try_open(url)
        .await
        .unwrap_or_else(|error| panic!("{url}: {error:?}"))
}

pub(crate) async fn try_open(url: &str) -> tenure::Result<Client> {
    Client::open(&url.parse()?, Clock::boot()).await
}

pub(crate) fn name(text: &str) -> MutexName {
    MutexName::new(text).expect("a valid name")
}

/// A name that no other test uses.
pub(crate) fn fresh(text: &str) -> MutexName {
    name(&format!("{text}-{:08x}", fastrand::u32(..)))
}

pub(crate) fn terms(ttl: u64, transition: u64) -> LeaseTerms {
    LeaseTerms::new(
        Duration::from_millis(ttl),
        Duration::from_millis(transition),
    )
    .expect("long enough")
}

/// Terms that do not run out during a test.
pub(crate) fn long() -> LeaseTerms {
    terms(600_000, 600_000)
}

pub(crate) fn bid(name: &MutexName, id: &str, terms: LeaseTerms) -> Bid {
    let id = ContenderId::new(id).expect("a valid id");
    Bid::new(name.clone(), id, terms)
}

/// `bid` must win.
pub(crate) async fn win(client: &impl Backend, bid: &Bid) -> Held {
    let answer = client.acquire(bid).await.expect("an answer");
    held(bid, &answer).unwrap_or_else(|| panic!("{:?} must win: {answer:?}", bid.contender))
}

pub(crate) fn held(bid: &Bid, answer: &Answer) -> Option<Held> {
    answer.token().map(|token| bid.held(token))
}

/// `bid` must be refused.
pub(crate) async fn lose(client: &impl Backend, bid: &Bid) -> Answer {
    let answer = client.acquire(bid).await.expect("an answer");
    assert!(
        !answer.is_won(),
        "{:?} must be refused: {answer:?}",
        bid.contender
    );
    answer
}

/// A bid that waits as the engine's do, without timers: by hints alone.
pub(crate) struct Waiter {
    pub(crate) bid: Bid,
    pub(crate) hints: Hints,
}

impl Waiter {
    pub(crate) async fn stand(client: &impl Backend, mut bid: Bid) -> Self {
        let answer = lose(client, &bid).await;
        bid.score = answer.place().map(|place| place.score.clone());
        let hints = client.changes(&Interest::in_turn(&bid));
        let answer = lose(client, &bid).await;
        assert!(answer.place().is_some(), "a waiter has a place");
        Self { bid, hints }
    }

    /// Wins by what it hears, and in no other way.
    pub(crate) async fn win(&mut self, client: &impl Backend) -> Held {
        self.win_within(PATIENCE, client).await
    }

    pub(crate) async fn win_within(&mut self, limit: Duration, client: &impl Backend) -> Held {
        let id = self.bid.contender.clone();
        let work = async {
            loop {
                self.hints.next().await.expect("the stream goes on");
                let answer = match client.acquire(&self.bid).await {
                    // Told that a lease has ended, by its own alarm, while there
                    // is no server: it is told again when there is one.
                    Err(error) if error.kind() == ErrorKind::Unreachable => continue,
                    answer => answer.expect("an answer"),
                };
                if let Some(held) = held(&self.bid, &answer) {
                    return held;
                }
                if let Some(place) = answer.place() {
                    self.bid.score = Some(place.score.clone());
                }
            }
        };
        tokio::time::timeout(limit, work)
            .await
            .unwrap_or_else(|_| panic!("{id:?} did not win by its hints"))
    }
}

/// A hand-over, so that both connections are used.
pub(crate) async fn works(url: &str) {
    serves(&open(url).await).await;
}

/// Takes, is told, and gives back.
pub(crate) async fn serves(client: &Client) {
    let mutex = name("m");
    let held = win(client, &bid(&mutex, "a", long())).await;
    let mut waiter = Waiter::stand(client, bid(&mutex, "b", long())).await;
    assert!(client.release(&held).await.unwrap().is_won());
    let held = waiter.win(client).await;
    assert!(client.release(&held).await.unwrap().is_won());
}

/// Asks again and again until it is so.
pub(crate) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How often each command was called, also inside scripts.
pub(crate) fn calls(server: &Redis, command: &str) -> u64 {
    let stats = server
        .command(&["INFO", "commandstats"])
        .expect("statistics");
    let begin = format!("cmdstat_{command}:calls=");
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix(begin.as_str()));
    line.and_then(|rest| rest.split(',').next()?.parse().ok())
        .unwrap_or(0)
}

/// Who waits, in order.
pub(crate) fn queue(server: &Redis, mutex: &str) -> Vec<String> {
    let key = format!("simba:{{{mutex}}}:contender");
    let line = server.command(&["ZRANGE", &key, "0", "-1"]).unwrap();
    line.lines()
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
        .collect()
}
