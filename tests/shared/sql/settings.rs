//! What others decide about the server and the table, and must not matter.

use std::time::Duration;

use tenure::backend::{Backend, Claim, ClaimAnswer};
use tenure_testkit::Whole as _;

use crate::support::{bid, client, renew, terms, win};
use crate::{SERVER, dialect};

/// Fails when the suite runs on a version that is not written down yet.
#[tokio::test]
async fn the_doctor_knows_the_version_that_the_tests_run_on() {
    let store = client(&SERVER.url()).await.unwrap();
    let findings = store.check().await;
    let server = findings.iter().find(|finding| finding.subject == "server");
    let told = &server.expect("the server is told of").detail;
    assert!(told.ends_with("a tested version"), "{told}");
}

#[tokio::test]
async fn what_the_servers_defaults_say_changes_nothing() {
    let server = dialect::contrary();
    let (here, there) = (
        client(&server.url()).await.unwrap(),
        client(&server.url()).await.unwrap(),
    );
    for round in 0..3 {
        let mut race = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = if number % 2 == 0 { &here } else { &there }.clone();
            let mut bid = bid(&format!("m{round}"), &format!("c{number}"));
            bid.terms = terms(60_000, 60_000);
            race.spawn(async move { (store.acquire(&bid).await.unwrap(), bid) });
        }
        let ended = race.join_all().await;
        let mut won = ended.iter().filter(|(answer, _)| answer.is_won());
        let (answer, mine) = won.next().expect("one wins");
        assert_eq!(won.count(), 0, "and only one");
        let left = answer.owner().remaining(answer.now()).unwrap();
        let whole = Duration::from_secs(118)..=Duration::from_secs(120);
        assert!(whole.contains(&left), "{left:?} of two minutes");
        // What one was told, the other sees at once.
        let held = mine.held(answer.token().unwrap());
        assert!(renew(&there, &held).await.unwrap().is_won());
        let at = Default::default();
        let claim = Claim::new("plan\\'", at, 1, at);
        let claimed = there.claim_tick(&held, &claim).await.unwrap();
        assert_eq!(claimed, ClaimAnswer::Claimed);
        let entry = here.read_ledger(&held.name).await.unwrap().unwrap();
        assert_eq!(&*entry.plan, "plan\\'");
        assert!(there.release(&held).await.unwrap().is_won());
        let next = win(&here, &bid(held.name.as_str(), "next")).await;
        assert!(next.token > held.token);
    }
}

#[tokio::test]
async fn a_trigger_that_rewrites_rows_costs_a_tenure_and_makes_no_second_owner() {
    let store = client(&format!("{}?table=rewritten", SERVER.url()))
        .await
        .unwrap();
    dialect::rewrite_versions(&SERVER, "rewritten");
    let mine = bid("m", "a");
    match store.acquire(&mine).await {
        Ok(answer) => {
            let held = mine.held(answer.token().expect("it is free"));
            let renewed = renew(&store, &held).await;
            assert!(
                !renewed.as_ref().is_ok_and(tenure::backend::Answer::is_won),
                "the row is not what was granted: {renewed:?}"
            );
        }
        Err(error) => assert_eq!(error.outcome(), tenure::Outcome::Did, "{error:?}"),
    }
    let other = store.acquire(&bid("m", "b")).await.unwrap();
    assert!(!other.is_won(), "its lease runs all the same: {other:?}");
}

#[tokio::test]
async fn a_trigger_that_only_watches_costs_nothing() {
    let store = client(&format!("{}?table=watched", SERVER.url()))
        .await
        .unwrap();
    dialect::watch_rows(&SERVER, "watched");
    for _ in 0..2 {
        let held = win(&store, &bid("m", "a")).await;
        let renewed = renew(&store, &held).await.unwrap();
        let left = renewed.owner().remaining(renewed.now()).unwrap();
        assert!(
            renewed.is_won() && left > Duration::from_secs(14),
            "{renewed:?}"
        );
        let refused = store.acquire(&bid("m", "b")).await.unwrap();
        assert!(!refused.is_won(), "{refused:?}");
        assert!(store.release(&held).await.unwrap().is_won());
    }
}
