//! Set-ups that do not work, and what one is told.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::backend::{Backend, Interest};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;

use crate::dialect;
use crate::support::{bid, client, terms, until, win};
use crate::{SERVER, Server};

/// A server with a user who needs a password.
static GUARDED: LazyLock<Server> = LazyLock::new(dialect::guarded);

#[tokio::test]
async fn the_documented_privileges_are_enough() {
    let server = &*GUARDED;
    let store = client(&dialect::as_app(server, "s3cret-word"))
        .await
        .unwrap();
    let held = win(&store, &bid("m", "a")).await;
    assert!(crate::support::renew(&store, &held).await.unwrap().is_won());
    let claim = tenure::backend::Claim::new("plan", Default::default(), 1, Default::default());
    store.claim_tick(&held, &claim).await.unwrap();
    store
        .finish_tick(&held, &tenure::backend::TickEnd::new(1, true))
        .await
        .unwrap();
    store.list(&tenure::backend::Page::first(10)).await.unwrap();
    assert!(store.release(&held).await.unwrap().is_won());
    let bad =
        |finding: &tenure::backend::Finding| finding.severity == tenure::backend::Severity::Bad;
    let findings = store.check().await;
    assert!(!findings.iter().any(bad), "{findings:?}");
}

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = &*GUARDED;
    let store = client(&dialect::as_app(server, "s3cret-word"))
        .await
        .unwrap();
    win(&store, &bid("guarded", "a")).await;
    assert!(!format!("{store:?}").contains("s3cret"), "{store:?}");
    let error = client(&dialect::as_app(server, "wr0ng-word"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert_eq!(error.outcome(), Outcome::DidNot);
    assert_eq!(error.retry(), Retry::Never);
    assert!(!format!("{error} {error:?}").contains("wr0ng"), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let port = tenure_testkit::servers::Port::choose().unwrap();
    let url = SERVER
        .url()
        .replace(&SERVER.port().to_string(), &port.number().to_string());
    let error = client(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Later)
    );
}

#[tokio::test]
async fn a_missing_table_is_named_with_its_ddl_unless_it_may_be_made() {
    let options = "?table=not_there&schedule_table=nor_this";
    let url = format!("{}{options}", SERVER.url());
    let error = client(&format!("{url}&create=false")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Never)
    );
    // What is printed is what makes them.
    let text = error.to_string();
    let ddl = &text[text.find("CREATE TABLE").expect("the DDL")..];
    let schema = dialect::schema(&url).replace("\n\n", "\n");
    // The rest is for tables of earlier versions.
    assert!(schema.starts_with(ddl), "{schema}\n---\n{ddl}");
    let store = client(&url).await.unwrap();
    let held = win(&store, &bid("m", "a")).await;
    SERVER.sql("DROP TABLE not_there").unwrap();
    let error = store.release(&held).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Never)
    );
    // The printed schema alone is enough.
    SERVER.sql("DROP TABLE nor_this").unwrap();
    SERVER.sql(&dialect::schema(&url)).unwrap();
    let store = client(&format!("{url}&create=false")).await.unwrap();
    win(&store, &bid("m", "a")).await;
    assert_eq!(
        store.read_ledger(&"m".parse().unwrap()).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn a_read_only_server_is_denied_for_now() {
    let server = dialect::guarded();
    let store = client(&dialect::as_app(&server, "s3cret-word"))
        .await
        .unwrap();
    let held = win(&store, &bid("m", "a")).await;
    dialect::set_read_only(&server, true);
    let error = until("it is read-only", async || {
        store.acquire(&bid("n", "a")).await.err()
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Later)
    );
    assert!(
        store
            .owner(&held.name)
            .await
            .unwrap()
            .owner()
            .is_owner(&held.contender)
    );
    dialect::set_read_only(&server, false);
    until("it is not", async || {
        store.acquire(&bid("n", "a")).await.ok()
    })
    .await;
}

#[tokio::test]
async fn a_server_without_connections_left_is_unreachable_for_now() {
    let server = dialect::crowded();
    let url = dialect::as_app(&server, "s3cret-word");
    let store = client(&url).await.unwrap();
    let mut crowd = Vec::new();
    let full = loop {
        match client(&url).await {
            Ok(other) => crowd.push(other),
            Err(error) => break error,
        }
        assert!(crowd.len() < 100, "it has room for all");
    };
    assert_eq!(full.kind(), ErrorKind::Unreachable, "{full:?}");
    assert_eq!(
        (full.outcome(), full.retry()),
        (Outcome::DidNot, Retry::Later)
    );
    // Who has a connection goes on.
    win(&store, &bid("m", "a")).await;
    drop(crowd);
    until("there is room again", async || client(&url).await.ok()).await;
}

#[tokio::test]
async fn waiting_holds_no_connection() {
    let server = Server::start().unwrap();
    let url = format!("{}?connections=1", server.url());
    let owner = client(&url).await.unwrap();
    let waiting = client(&url).await.unwrap();
    let mut streams = Vec::new();
    for number in 0..100 {
        let mutex = format!("m{number}");
        let mut long = bid(&mutex, "owner");
        long.terms = terms(60_000, 60_000);
        win(&owner, &long).await;
        streams.push(waiting.changes(&Interest::in_turn(&bid(&mutex, "waiter"))));
    }
    // With one connection for all, and a hundred who wait.
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = waiting.clone();
        calls.spawn(async move { win(&store, &bid(&format!("n{number}"), "a")).await });
    }
    calls.join_all().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let connections = dialect::connections(&server);
    assert!(
        (2..=3).contains(&connections),
        "one each, and one to listen: {connections}"
    );
}

#[tokio::test]
async fn a_caller_that_gives_up_frees_its_connection() {
    let store = client(&format!("{}?connections=1", SERVER.url()))
        .await
        .unwrap();
    let held = win(&store, &bid("locked", "a")).await;
    let _locked = dialect::lock_row(&SERVER, "locked").await;
    let release = store.release(&held);
    let given_up = tokio::time::timeout(Duration::from_millis(200), release).await;
    assert!(given_up.is_err(), "another transaction holds the row");
    let other = bid("unlocked", "a");
    let won = tokio::time::timeout(Duration::from_secs(10), win(&store, &other));
    won.await.expect("the only connection is free again");
}

#[tokio::test]
async fn many_who_open_at_once_make_the_tables_without_an_error() {
    for round in 0..5 {
        let url = format!(
            "{}?table=made_{round}&schedule_table=made_too_{round}",
            SERVER.url()
        );
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let url = url.clone();
            opening.spawn(async move { client(&url).await.map(drop) });
        }
        for opened in opening.join_all().await {
            opened.unwrap();
        }
    }
}
