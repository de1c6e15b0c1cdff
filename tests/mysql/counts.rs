//! What a call costs, counted by the server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::{AnyBackend, Backend, Interest};
use tenure::service::LocalContender;
use tenure_testkit::servers::MariaDb;
use tokio::sync::Mutex;

use crate::support::{bid, client, name, renew, terms, until, win};

/// The server's own count of statements, prepares and pings.
struct Counter {
    server: MariaDb,
    /// What asking costs.
    own: u64,
}

/// One at a time: the server counts for all.
static COUNTER: LazyLock<Mutex<Counter>> = LazyLock::new(|| Mutex::new(Counter::start()));

impl Counter {
    fn start() -> Self {
        let mut counter = Self {
            server: MariaDb::start().unwrap(),
            own: 0,
        };
        let first = counter.total();
        counter.own = counter.total() - first;
        counter
    }

    fn total(&self) -> u64 {
        let names = "('Questions','Com_stmt_prepare','Com_admin_commands')";
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN {names}");
        let status = self.server.sql(&sql).unwrap();
        let values: BTreeMap<&str, u64> = status
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        assert_eq!(values.len(), 3, "{status}");
        values.values().sum()
    }

    async fn count(&self, work: impl Future<Output = ()>) -> u64 {
        let before = self.total();
        work.await;
        self.total() - before - self.own
    }
}

/// Each statement on the connection once, so that all are prepared.
async fn warm(client: &AnyBackend) {
    let warm = bid("warm", "a");
    let held = win(client, &warm).await;
    client.acquire(&bid("warm", "b")).await.unwrap();
    renew(client, &held).await.unwrap();
    client.release(&held).await.unwrap();
    client.release(&held).await.unwrap();
    client.leave(&warm).await.unwrap();
}

#[tokio::test]
async fn one_round_trip_to_take_renew_and_free_and_two_for_a_refusal() {
    let counter = COUNTER.lock().await;
    let url = format!("{}?connections=1", counter.server.url());
    let client = client(&url).await.unwrap();
    warm(&client).await;
    // Counting takes a while, and an idle connection is asked whether it lives:
    // a first call answers that, and is counted here.
    let touch = async || client.leave(&bid("none", "x")).await.unwrap();
    let cost = async |work: Pin<Box<dyn Future<Output = ()> + '_>>| {
        let counted = counter.count(async {
            touch().await;
            work.await;
        });
        counted.await - 1
    };
    let mine = bid("warm", "a");
    let held = std::cell::OnceCell::new();
    let taken = cost(Box::pin(async {
        held.set(win(&client, &mine).await).unwrap();
    }));
    let taken = taken.await;
    let held = held.into_inner().unwrap();
    let renewed = cost(Box::pin(async {
        assert!(renew(&client, &held).await.unwrap().is_won());
    }));
    let renewed = renewed.await;
    let refused = cost(Box::pin(async {
        assert!(!client.acquire(&bid("warm", "b")).await.unwrap().is_won());
    }));
    let refused = refused.await;
    let freed = cost(Box::pin(async {
        assert!(client.release(&held).await.unwrap().is_won());
    }));
    let freed = freed.await;
    let costs = [taken, renewed, refused, freed];
    // With or without the ping of the first call.
    for (cost, most) in costs.into_iter().zip([1, 1, 2, 1]) {
        assert!(
            (most..=most + 1).contains(&cost),
            "take, renew, refusal, release: {costs:?}"
        );
    }
}

/// How many temporary tables the server has made.
fn temporary_tables(server: &MariaDb) -> u64 {
    let status = server.sql("SHOW GLOBAL STATUS LIKE 'Created_tmp_tables'");
    let status = status.unwrap();
    let value = status.trim().rsplit('\t').next().unwrap();
    value.parse().unwrap()
}

/// Going around a row that another may hold takes one, and half of the time.
#[tokio::test]
async fn mariadb_takes_and_frees_without_a_temporary_table() {
    let counter = COUNTER.lock().await;
    let server = &counter.server;
    let client = client(&server.url()).await.unwrap();
    let cycle = async || {
        let held = win(&client, &bid("temporary", "a")).await;
        assert!(client.release(&held).await.unwrap().is_won());
    };
    cycle().await;
    let first = temporary_tables(server);
    let asking = temporary_tables(server) - first;
    let before = temporary_tables(server);
    for _ in 0..20 {
        cycle().await;
    }
    let made = temporary_tables(server) - before - asking;
    // Whatever else the server does meanwhile.
    assert!(made < 10, "{made} for 20 takes");
}

#[tokio::test]
async fn two_hundred_waiters_cost_no_more_looks_than_one() {
    const FOR: Duration = Duration::from_secs(2);
    let counter = COUNTER.lock().await;
    let waiting = client(&counter.server.url()).await.unwrap();
    let owning = client(&counter.server.url()).await.unwrap();
    let mut long = bid("m", "owner");
    long.terms = terms(60_000, 60_000);
    for number in 0..200 {
        long.name = name(&format!("m{number}"));
        win(&owning, &long).await;
    }
    let mut counted = Vec::new();
    let mut streams = Vec::new();
    for waiters in [1, 200] {
        while streams.len() < waiters {
            let waiter = bid(&format!("m{}", streams.len()), "waiter");
            streams.push(waiting.changes(&Interest::in_turn(&waiter)));
        }
        // The first looks after a new listener has come are quick.
        tokio::time::sleep(Duration::from_secs(1)).await;
        counted.push(counter.count(tokio::time::sleep(FOR)).await);
    }
    let [one, many] = counted[..] else {
        unreachable!()
    };
    let slowest = 2_000 / 60;
    assert!(one <= slowest * 2, "an adaptive look: {one} in {FOR:?}");
    assert!(many <= one + one / 3 + 3, "one waiter: {one}, 200: {many}");
    drop(streams);
    // None waits, none looks.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(counter.count(tokio::time::sleep(FOR)).await, 0);
}

#[tokio::test]
async fn a_graceful_release_is_seen_within_100_ms() {
    let server = &crate::SERVER;
    let (here, there) = (
        client(&server.url()).await.unwrap(),
        client(&server.url()).await.unwrap(),
    );
    let mut latencies = Vec::new();
    for round in 0..9 {
        let held = win(&here, &bid("seen", "a")).await;
        let waiter = bid("seen", "b");
        let mut hints = there.changes(&Interest::in_turn(&waiter));
        // So long that the looks have slowed down.
        tokio::time::sleep(Duration::from_millis(400 + round * 7)).await;
        let released_at = Instant::now();
        assert!(here.release(&held).await.unwrap().is_won());
        hints.next().await.expect("open");
        let held = win(&there, &waiter).await;
        latencies.push(released_at.elapsed());
        there.release(&held).await.unwrap();
    }
    latencies.sort();
    assert!(latencies[4] <= Duration::from_millis(100), "{latencies:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_held_mutexes_renew_in_fifty_statements_over_five_connections() {
    const HELD: usize = 1000;
    let counter = COUNTER.lock().await;
    let coordinator = Coordinator::builder()
        .terms(terms(4_000, 26_000))
        .connect(counter.server.url())
        .await
        .unwrap();
    let mut services = Vec::new();
    for number in 0..HELD {
        let contender = LocalContender::new(format!("held-{number}")).unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        services.push(service);
    }
    let all = async || {
        services
            .iter()
            .all(tenure::service::ContendService::is_owner)
            .then_some(())
    };
    until("all are owned", all).await;
    // A period for the renewals to fall in step.
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let counted = counter
        .count(tokio::time::sleep(Duration::from_secs(4)))
        .await;
    let threads = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'tenure' \
                   AND ID <> CONNECTION_ID()";
    let connections: u64 = counter.server.sql(threads).unwrap().parse().unwrap();
    all().await.expect("all are still owned");
    // A ping for an idle connection is no statement, but counted here.
    assert!((5..=50).contains(&counted), "{counted} in a period");
    // Four, and the one that only renewals use.
    assert!((1..=5).contains(&connections), "{connections} connections");
    drop(services);
    coordinator.close().await.unwrap();
}
