//! A server that only follows another.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Severity};
use tenure::lock::Fence;
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

/// A clean fail-over: the standby has everything, and its clock is ahead.
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_whose_clock_is_ahead_ends_leases_early_by_as_much() {
    const LEASE: Duration = Duration::from_secs(16);
    const AHEAD: Duration = Duration::from_secs(11);
    let (primary, standby) = tokio::task::block_in_place(|| {
        let primary = Postgres::builder().own_clock().unwrap().start().unwrap();
        // The primary's clock is set back: the process of a standby that tells the time is
        // begun where libfaketime does not reach.
        primary.set_clock_back(AHEAD).unwrap();
        let standby = Postgres::builder().standby_of(&primary).start().unwrap();
        (primary, standby)
    });
    let before = client(&primary.url()).await.unwrap();
    let asked = Instant::now();
    let ours = win(&before, &bid("m", "a")).await;
    until("the standby has it", async || {
        let sql = "SELECT owner_id FROM simba_mutex WHERE mutex = 'm'";
        (standby.sql(sql).ok()? == "a").then_some(())
    })
    .await;
    let told = until("the standby has told its time", async || {
        let findings = before.check().await;
        findings.into_iter().find(|one| one.subject == "clocks")
    })
    .await;
    assert_eq!(told.severity, Severity::Warning, "{told:?}");
    tokio::task::block_in_place(|| {
        primary.kill().unwrap();
        standby.sql("SELECT pg_promote()").unwrap();
    });
    let after = client(&standby.url()).await.unwrap();
    let their_bid = bid("m", "b");
    let theirs = until("the lease has ended there", async || {
        let answer = after.acquire(&their_bid).await.ok()?;
        Some(their_bid.held(answer.token()?))
    })
    .await;
    let took = asked.elapsed();
    assert!(
        took < LEASE - Duration::from_secs(1),
        "{took:?}: it did not end early"
    );
    assert!(
        took + Duration::from_secs(1) > LEASE - AHEAD,
        "{took:?}: by more than that"
    );
    // A resource that looks at tokens lets the first owner in no more, and it
    // learns of its loss at its next renewal.
    let fence = Fence::starting_at(theirs.token);
    assert!(
        fence.admit(ours.token).is_err(),
        "{theirs:?} after {ours:?}"
    );
    assert!(!renew(&after, &ours).await.unwrap().is_won());
}
