//! A server that only follows another.

use tenure::backend::{Backend, Severity};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::Postgres;

use crate::support::{bid, client, renew, until, win};

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_makes_nobody_an_owner_until_it_is_promoted() {
    let server = Postgres::start().unwrap();
    let store = client(&server.url()).await.unwrap();
    let held = win(&store, &bid("m", "a")).await;
    tokio::task::block_in_place(|| {
        server.stop().unwrap();
        std::fs::write(server.directory().join("data/standby.signal"), "").unwrap();
        server.start().unwrap();
    });
    let error = until("it answers", async || {
        let error = store.acquire(&bid("n", "a")).await.unwrap_err();
        (error.kind() == ErrorKind::Denied).then_some(error)
    })
    .await;
    let judged = (error.outcome(), error.retry());
    assert_eq!(judged, (Outcome::DidNot, Retry::Later), "{error:?}");
    // It shows who owned, and renews nothing.
    assert!(renew(&store, &held).await.is_err());
    let findings = store.check().await;
    let named = findings.iter().find(|one| one.subject == "read-only");
    let named = named.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(named.severity, Severity::Bad, "{named:?}");
    server.sql("SELECT pg_promote()").unwrap();
    until("it is promoted", async || {
        store.acquire(&bid("n", "a")).await.ok()?.token()
    })
    .await;
}
