//! LISTEN and NOTIFY: heard at once, and not relied upon.

use std::time::{Duration, Instant};

use tenure::backend::{AnyBackend, Backend, Hint, Hints, Interest};
use tenure_testkit::servers::{Flow, Postgres, Proxy, Way};

use crate::SERVER;
use crate::support::{bid, client, terms, through, until, win};

/// The URL of a table of its own.
fn url(table: &str) -> String {
    format!("{}?table={table}", SERVER.url())
}

/// Asks about the connections that listen for `table`.
fn listeners(table: &str, what: &str) -> String {
    let sql = format!(
        "SELECT count({what}) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"{table}\"%'"
    );
    SERVER.sql(&sql).unwrap()
}

/// One who waits for `m`, whose stream is up.
async fn waiter(store: &AnyBackend) -> Hints {
    let waiter = bid("m", "waiter");
    let mut hints = store.changes(&Interest::in_turn(&waiter));
    assert_eq!(
        hints.next().await,
        Some(Hint::Resumed),
        "it listens from now on"
    );
    hints
}

async fn owned(store: &AnyBackend) -> tenure::backend::Held {
    let mut long = bid("m", "owner");
    long.terms = terms(60_000, 60_000);
    win(store, &long).await
}

async fn next_within(hints: &mut Hints, limit: Duration) -> Option<Hint> {
    tokio::time::timeout(limit, hints.next())
        .await
        .ok()
        .flatten()
}

#[tokio::test]
async fn a_release_is_heard_at_once() {
    let url = url("at_once");
    let (here, there) = (client(&url).await.unwrap(), client(&url).await.unwrap());
    let mut hints = waiter(&there).await;
    let mut latencies = Vec::new();
    for _ in 0..9 {
        let held = owned(&here).await;
        let released_at = Instant::now();
        assert!(here.release(&held).await.unwrap().is_won());
        assert_eq!(hints.next().await, Some(Hint::Turn));
        latencies.push(released_at.elapsed());
    }
    latencies.sort();
    assert!(latencies[4] < Duration::from_millis(100), "{latencies:?}");
}

#[tokio::test]
async fn who_looks_behind_a_pooler_is_heard_by_those_who_listen() {
    let here = client(&format!("{}&notify=off", url("mixed")))
        .await
        .unwrap();
    let there = client(&url("mixed")).await.unwrap();
    let held = owned(&here).await;
    let mut hints = waiter(&there).await;
    assert!(here.release(&held).await.unwrap().is_won());
    assert_eq!(
        next_within(&mut hints, Duration::from_secs(30)).await,
        Some(Hint::Turn)
    );
    assert_eq!(
        listeners("mixed", "*"),
        "1",
        "the one behind the pooler does not listen"
    );
}

#[tokio::test]
async fn a_listener_that_was_cut_off_listens_again_and_says_so() {
    let store = client(&url("cut_off")).await.unwrap();
    let held = owned(&store).await;
    let mut hints = waiter(&store).await;
    for _ in 0..3 {
        assert_eq!(listeners("cut_off", "pg_terminate_backend(pid)"), "1");
        let hint = next_within(&mut hints, Duration::from_secs(30)).await;
        assert_eq!(hint, Some(Hint::Resumed), "what was sent meanwhile is lost");
    }
    assert!(store.release(&held).await.unwrap().is_won());
    assert_eq!(
        next_within(&mut hints, Duration::from_secs(30)).await,
        Some(Hint::Turn)
    );
}

#[tokio::test]
async fn a_listener_survives_a_restart_of_the_server() {
    let server = Postgres::start().unwrap();
    let store = client(&server.url()).await.unwrap();
    let held = owned(&store).await;
    let mut hints = waiter(&store).await;
    server.restart().unwrap();
    let hint = next_within(&mut hints, Duration::from_secs(30)).await;
    assert_eq!(hint, Some(Hint::Resumed));
    until("it is released", async || store.release(&held).await.ok()).await;
    assert_eq!(
        next_within(&mut hints, Duration::from_secs(30)).await,
        Some(Hint::Turn)
    );
}

#[tokio::test]
async fn a_listener_on_a_half_open_connection_is_replaced_by_a_timer() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let options = "?table=half_open&call_timeout=1s";
    let store = client(&format!("{}{options}", through(&proxy, &SERVER)))
        .await
        .unwrap();
    let direct = client(&url("half_open")).await.unwrap();
    let held = owned(&direct).await;
    let mut hints = waiter(&store).await;
    let before = proxy.connections();
    // Neither side is told: the server's packets are gone.
    proxy.set(Way::ToClient, Flow::Hold);
    until("it tries anew", async || {
        (proxy.connections() > before).then_some(())
    })
    .await;
    assert!(
        direct.release(&held).await.unwrap().is_won(),
        "and this is not heard"
    );
    proxy.cut().unwrap();
    proxy.heal().unwrap();
    let hint = next_within(&mut hints, Duration::from_secs(30)).await;
    assert_eq!(hint, Some(Hint::Resumed), "look again");
}

/// A listener that is being connected anew while somebody else comes to wait:
/// what was sent meanwhile is lost, and everybody must be told to look.
#[tokio::test]
async fn whoever_comes_while_a_listener_connects_anew_leaves_nobody_untold() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let behind = format!("{}?table=comes", through(&proxy, &SERVER));
    let store = client(&behind).await.unwrap();
    let direct = client(&url("comes")).await.unwrap();
    let held = owned(&direct).await;
    let mut hints = waiter(&store).await;
    let before = proxy.connections();
    // The end of the old connection is heard; a new one gets no answer.
    proxy.set(Way::ToServer, Flow::Hold);
    assert_eq!(listeners("comes", "pg_terminate_backend(pid)"), "1");
    until("it connects anew", async || {
        (proxy.connections() > before).then_some(())
    })
    .await;
    let _second = store.changes(&Interest::in_turn(&bid("m", "second")));
    assert!(
        direct.release(&held).await.unwrap().is_won(),
        "and this is not heard"
    );
    proxy.heal().unwrap();
    let hint = next_within(&mut hints, Duration::from_secs(30)).await;
    assert_eq!(hint, Some(Hint::Resumed), "look again");
}

#[tokio::test]
async fn nobody_listens_when_nobody_waits() {
    let store = client(&url("nobody")).await.unwrap();
    let hints = waiter(&store).await;
    assert_eq!(listeners("nobody", "*"), "1");
    drop(hints);
    until("it has gone", async || {
        (listeners("nobody", "*") == "0").then_some(())
    })
    .await;
    let _again = waiter(&store).await;
}
