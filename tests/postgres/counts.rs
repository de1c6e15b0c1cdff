//! What a call costs, counted in the server's log.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Interest};
use tenure::service::{ContendService, LocalContender};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::Postgres;

use crate::support::{bid, client, renew, terms, until, win};

/// Logs every statement.
static CHATTY: LazyLock<Postgres> = LazyLock::new(|| {
    let builder = Postgres::builder().set("log_statement", "all");
    // A batch of renewals is long, and names its table late.
    let builder = builder.set("track_activity_query_size", "100kB");
    builder.set("log_line_prefix", "%a>").start().unwrap()
});

/// The URL of a table of its own.
fn url(table: &str, options: &str) -> String {
    format!("{}?table={table}{options}", CHATTY.url())
}

/// The messages that name `table` so far.
fn statements(table: &str) -> usize {
    let is_of = |line: &&str| line.starts_with("tenure>LOG:") && line.contains(table);
    CHATTY.log().lines().filter(is_of).count()
}

/// The statements about `table` while `work` runs. The server writes its log
/// before it answers.
async fn count(table: &str, work: impl Future<Output = ()>) -> usize {
    let before = statements(table);
    work.await;
    statements(table) - before
}

#[tokio::test]
async fn one_statement_to_take_renew_and_free_and_two_to_be_refused_or_the_first() {
    for options in ["&connections=1", "&connections=1&notify=off"] {
        let store = client(&url("calls", options)).await.unwrap();
        let mine = bid("m", "a");
        // The first call may find its connection idle, and ask whether it lives.
        win(&store, &bid("warm", "a")).await;
        let take = || async { drop(win(&store, &mine).await) };
        let first = count("calls", take()).await;
        let held = win(&store, &mine).await;
        assert!(store.release(&held).await.unwrap().is_won());
        let taken = count("calls", take()).await;
        let held = win(&store, &mine).await;
        let renewed = count("calls", async {
            assert!(renew(&store, &held).await.unwrap().is_won());
        });
        let renewed = renewed.await;
        let refused = count("calls", async {
            assert!(!store.acquire(&bid("m", "b")).await.unwrap().is_won());
        });
        let refused = refused.await;
        let freed = count("calls", async {
            assert!(store.release(&held).await.unwrap().is_won());
        });
        let costs = [taken, renewed, freed.await];
        assert_eq!(costs, [1; 3], "{options}: take, renew, release");
        // Whether it is free, and who owns it: two where a statement is cheap once it is planned.
        let is_planned = !options.contains("notify=off");
        assert_eq!(refused, 1 + usize::from(is_planned), "{options}: refusal");
        assert!(first <= 2, "{options}: {first} for the first");
        store.revoke(&"warm".parse().unwrap(), None).await.unwrap();
    }
}

#[tokio::test]
async fn a_statement_is_planned_once_in_a_session() {
    let store = client(&url("planned", "&connections=1")).await.unwrap();
    for _ in 0..20 {
        let held = win(&store, &bid("m", "a")).await;
        assert!(renew(&store, &held).await.unwrap().is_won());
        assert!(store.release(&held).await.unwrap().is_won());
    }
    for what in ["take_free", "take", "renew", "release_held"] {
        let prepares = format!("PREPARE \"{what} ");
        let log = CHATTY.log();
        let of_table = log.lines().filter(|line| line.contains("planned"));
        let prepared = of_table.filter(|line| line.starts_with("tenure>LOG:"));
        let prepared = prepared.filter(|line| line.contains(&prepares)).count();
        assert_eq!(prepared, 1, "{what}");
    }
    // A table that has become another needs another plan.
    CHATTY
        .sql("ALTER TABLE planned ALTER COLUMN owner_id TYPE VARCHAR(200)")
        .unwrap();
    for _ in 0..3 {
        let held = win(&store, &bid("m", "a")).await;
        assert!(renew(&store, &held).await.unwrap().is_won());
        assert!(store.release(&held).await.unwrap().is_won());
    }
}

#[tokio::test]
async fn those_who_wait_by_push_ask_nothing() {
    let store = client(&url("pushed", "")).await.unwrap();
    let mut streams = Vec::new();
    for number in 0..200 {
        let mut long = bid(&format!("m{number}"), "a");
        long.terms = terms(60_000, 60_000);
        win(&store, &long).await;
        streams.push(store.changes(&Interest::in_turn(&long)));
    }
    until("it listens", async || {
        (statements("LISTEN \"pushed") > 0).then_some(())
    })
    .await;
    let asked = count("pushed", tokio::time::sleep(Duration::from_secs(2))).await;
    assert_eq!(asked, 0, "statements for 200 who wait");
}

#[tokio::test]
async fn two_hundred_who_wait_by_looking_cost_no_more_than_one() {
    const FOR: Duration = Duration::from_secs(2);
    let store = client(&url("looked", "&notify=off")).await.unwrap();
    let mut streams = Vec::new();
    let mut counted = Vec::new();
    for waiters in [1, 200] {
        while streams.len() < waiters {
            let mut long = bid(&format!("m{}", streams.len()), "a");
            long.terms = terms(60_000, 60_000);
            win(&store, &long).await;
            streams.push(store.changes(&Interest::in_turn(&long)));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        counted.push(count("looked", tokio::time::sleep(FOR)).await);
    }
    let [one, many] = counted[..] else {
        unreachable!()
    };
    assert!(
        (5..=70).contains(&one),
        "an adaptive look: {one} in {FOR:?}"
    );
    assert!(many <= one + one / 3 + 3, "one waiter: {one}, 200: {many}");
    drop(streams);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        count("looked", tokio::time::sleep(FOR)).await,
        0,
        "nobody waits"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_held_mutexes_renew_in_fifty_statements_over_five_connections() {
    const HELD: usize = 1000;
    let coordinator = Coordinator::builder().terms(terms(4_000, 26_000));
    let coordinator = coordinator.connect(url("held", "")).await.unwrap();
    let mut services = Vec::new();
    for number in 0..HELD {
        let contender = LocalContender::new(format!("held-{number}")).unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        services.push(service);
    }
    let all = async || services.iter().all(ContendService::is_owner).then_some(());
    until("all are owned", all).await;
    // A period for the renewals to fall in step.
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let counted = count(" held\"", tokio::time::sleep(Duration::from_secs(4))).await;
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '% held\"%' \
                       AND pid <> pg_backend_pid()";
    let connections: u64 = CHATTY.sql(connections).unwrap().parse().unwrap();
    all().await.expect("all are still owned");
    assert!((5..=50).contains(&counted), "{counted} in a period");
    // Four, and the one that only renewals use.
    assert!((1..=5).contains(&connections), "{connections} connections");
    drop(services);
    coordinator.close().await.unwrap();
}
