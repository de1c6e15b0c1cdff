//! What a call costs, counted in the server's log.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Interest};
use tenure::service::{ContendService, LocalContender};
use tenure_testkit::servers::Postgres;

use crate::ground::{bid, client, renew, terms, until, win};

fn chatty() -> Postgres {
    let builder = Postgres::builder().set("log_statement", "all");
    builder.set("log_line_prefix", "%a>").start().unwrap()
}

/// The statements so far, of clients of the store.
fn statements(server: &Postgres) -> usize {
    let log = server.log();
    log.lines()
        .filter(|line| line.starts_with("tenure>LOG:"))
        .count()
}

/// The statements from now until a while after `work`.
async fn count(server: &Postgres, work: impl Future<Output = ()>) -> usize {
    let before = statements(server);
    work.await;
    // The log is written by the server before it answers.
    statements(server) - before
}

#[tokio::test]
async fn one_statement_to_take_renew_free_and_be_refused() {
    let server = chatty();
    for options in ["?connections=1", "?connections=1&notify=off"] {
        let store = client(&format!("{}{options}", server.url())).await.unwrap();
        let mine = bid("m", "a");
        // The first call may find its connection idle, and ask whether it lives.
        win(&store, &bid("warm", "a")).await;
        let taken = count(&server, async { drop(win(&store, &mine).await) }).await;
        let held = win(&store, &mine).await;
        let renewed = count(&server, async {
            assert!(renew(&store, &held).await.unwrap().is_won());
        });
        let renewed = renewed.await;
        let refused = count(&server, async {
            assert!(!store.acquire(&bid("m", "b")).await.unwrap().is_won());
        });
        let refused = refused.await;
        let freed = count(&server, async {
            assert!(store.release(&held).await.unwrap().is_won());
        });
        let costs = [taken, renewed, refused, freed.await];
        assert_eq!(costs, [1; 4], "{options}: take, renew, refusal, release");
        store.revoke(&"warm".parse().unwrap(), None).await.unwrap();
    }
}

#[tokio::test]
async fn those_who_wait_by_push_ask_nothing() {
    let server = chatty();
    let store = client(&server.url()).await.unwrap();
    let mut streams = Vec::new();
    for number in 0..200 {
        let mut long = bid(&format!("m{number}"), "a");
        long.terms = terms(60_000, 60_000);
        win(&store, &long).await;
        streams.push(store.changes(&Interest::in_turn(&long)));
    }
    until("it listens", async || {
        server.log().contains("LISTEN").then_some(())
    })
    .await;
    let asked = count(&server, tokio::time::sleep(Duration::from_secs(2))).await;
    // One to see whether the connection lives, at most.
    assert!(asked <= 1, "{asked} statements for 200 who wait");
}

#[tokio::test]
async fn two_hundred_who_wait_by_looking_cost_no_more_than_one() {
    const FOR: Duration = Duration::from_secs(2);
    let server = chatty();
    let store = client(&format!("{}?notify=off", server.url()))
        .await
        .unwrap();
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
        counted.push(count(&server, tokio::time::sleep(FOR)).await);
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
        count(&server, tokio::time::sleep(FOR)).await,
        0,
        "nobody waits"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_held_mutexes_renew_in_fifty_statements_over_four_connections() {
    const HELD: usize = 1000;
    let server = chatty();
    let coordinator = Coordinator::builder().terms(terms(8_000, 24_000));
    let coordinator = coordinator.connect(&server.url()).await.unwrap();
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
    tokio::time::sleep(Duration::from_secs(9)).await;
    let counted = count(&server, tokio::time::sleep(Duration::from_secs(8))).await;
    let connections = crate::dialect::connections(&server);
    all().await.expect("all are still owned");
    assert!((5..=50).contains(&counted), "{counted} in a period");
    assert!((1..=4).contains(&connections), "{connections} connections");
    drop(services);
    coordinator.close().await.unwrap();
}
