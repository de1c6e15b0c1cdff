//! After close there is nothing.

use std::time::Duration;

use tenure::backend::{Backend, Claim, Interest, LeaseBound, Page, Prune, TickEnd};
use tenure::model::StoreTime;
use tenure::{ErrorKind, Outcome, Result};

use super::case::not_applicable;
use super::{Case, Part, Subject};
use crate::Whole as _;

fn is_closed<T>(call: &str, result: Result<T>) {
    match result {
        Ok(_) => panic!("{call} succeeded on a closed backend"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Closed, "{call}: {error:?}");
            assert_eq!(error.outcome(), Outcome::DidNot, "{call}: {error:?}");
        }
    }
}

/// Every call fails with `Closed`, and certainly did nothing.
pub async fn calls_after_close_fail_as_closed(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let bid = case.bid(&case.name("m"), "a");
    let held = case.win(&client, &bid).await.held;
    client.close().await.expect("close");
    is_closed("acquire", client.acquire(&bid).await);
    let renewed = client.renew(&[held.clone(), held.clone()]).await;
    assert_eq!(renewed.len(), 2, "one answer for each, also when closed");
    for answer in renewed {
        is_closed("renew", answer);
    }
    is_closed("release", client.release(&held).await);
    is_closed("leave", client.leave(&bid).await);
    is_closed("owner", client.owner(&bid.name).await);
    let sentence = "calls_after_close_fail_as_closed";
    if !case.has_none(&client, Part::Inventory, sentence) {
        is_closed("list", client.list(&Page::first(10)).await);
        let prune = Prune::unused_for(Duration::from_secs(3600));
        is_closed("prune", client.prune(&prune).await);
    }
    if !case.has_none(&client, Part::Administration, sentence) {
        is_closed("revoke", client.revoke(&bid.name, None).await);
    }
    if !case.has_none(&client, Part::Ledger, sentence) {
        let claim = Claim::new("plan", StoreTime::ZERO, 1, StoreTime::ZERO);
        is_closed("read_ledger", client.read_ledger(&bid.name).await);
        let ledgers = client.list_ledgers(&Page::first(10)).await;
        is_closed("list_ledgers", ledgers);
        is_closed("claim_tick", client.claim_tick(&held, &claim).await);
        let end = TickEnd::new(1, true);
        is_closed("finish_tick", client.finish_tick(&held, &end).await);
    }
    let mut hints = client.changes(&Interest::in_owner(&bid.name));
    let soon = case.clock().now() + case.patience();
    let next = case.clock().limit(soon, hints.next()).await;
    assert_eq!(next, Some(None), "a closed backend has no hints");
}

/// Closing again is no error, and other clients do not notice.
pub async fn closing_again_is_harmless(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    for _ in 0..2 {
        here.close().await.expect("closing again is no error");
    }
    let win = case.win(&there, &case.bid(&name, "a")).await;
    here.close().await.expect("closing again is no error");
    case.still_owns(&there, &win, "another client's close")
        .await;
}

/// Closing releases nothing: the engine does that, when its work has ended.
pub async fn a_close_releases_nothing(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "a session ends with its client";
        return not_applicable(&here.profile(), "a_close_releases_nothing", why);
    }
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    here.close().await.expect("close");
    case.still_owns(&there, &win, "its client's close").await;
    case.release(&there, &win.held).await;
}
