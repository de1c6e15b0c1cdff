//! Beside owners of another kind.

use serde_json::Value;
use tenure::backend::{Backend, Bid, Nonce};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure_testkit::servers::Redis;

use super::stores::Store;
use super::support::{Home, Screen, text};

#[test]
fn status_shows_no_token_of_a_dead_grant_beside_a_jvm_owner() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let ran = home.output(["run", "m", "--", "true"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let words = ["SET", "simba:{m}", "jvm", "NX", "PX", "60000"];
    server.command(&words).unwrap();
    for names in [&["m"][..], &[]] {
        let words = ["status", "--output", "json"].iter().chain(names);
        let row: Value = serde_json::from_slice(&home.output(words).stdout).unwrap();
        assert_eq!(row["owner"], "jvm", "{row}");
        assert!(row["token"].is_null() && row["kind"].is_null(), "{row}");
    }
    let table = text(&home.output(["status"]).stdout);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["m", "-", "jvm", "-"], "{table}");
}

/// A node as Curator makes it, of an owner that never looks at it again.
async fn curator(place: &str, mutex: &str) -> impl Backend {
    let url = place.parse().unwrap();
    let store = tenure::stores::open(&url, Clock::boot()).await.unwrap();
    let (name, id) = (MutexName::new(mutex), ContenderId::new("java"));
    let mut bid = Bid::new(name.unwrap(), id.unwrap(), LeaseTerms::default());
    bid.nonce = Nonce::from_bits(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);
    assert!(store.acquire(&bid).await.unwrap().is_won());
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_would_go_on_is_revoked_only_if_that_is_asked_for() {
    let place = Store::ZooKeeper.place().unwrap();
    let home = Home::at(&place);
    let peer = curator(&place, home.mutex()).await;
    let refused = home.output(["revoke", home.mutex(), "--yes", "--output", "json"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = text(&refused.stderr);
    assert!(said.contains("nothing was done"), "{said}");
    assert!(said.contains("--even-if-its-owner-goes-on"), "{said}");
    let told: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(told["revoked"], false, "{told}");
    assert_eq!(told["owner_goes_on"], true, "{told}");
    assert_eq!(told["owner"], "java", "{told}");

    // A person is told before the question.
    let script = format!(
        "\"$TENURE\" revoke {} --even-if-its-owner-goes-on; echo $? > ended",
        home.mutex()
    );
    let mut screen = Screen::show(&home, &script);
    screen.sees("goes on believing to own");
    screen.sees("Free it? [y/N] ");
    screen.types("n");
    assert_eq!(home.line("ended"), "1");

    let words = ["revoke", home.mutex(), "-y", "--even-if-its-owner-goes-on"];
    let done = home.output(words);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let said = text(&done.stderr);
    let before = said.find("goes on believing").expect("it is said");
    assert!(before < said.find("has been freed").unwrap(), "{said}");
    peer.close().await.unwrap();
}

/// A peer that learns of it is revoked as ever.
#[test]
fn an_owner_of_ours_needs_no_further_word() {
    let home = Home::on(Store::ZooKeeper, super::stores::Lease::Usual);
    let _held = super::support::holder(&home);
    let words = ["revoke", home.mutex(), "--yes", "--output", "json"];
    let done = home.output(words);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(told["owner_goes_on"].is_null(), "{told}");
}
