//! Users, ACLs, chroots, names, and what cannot be opened.

use std::time::Duration;

use tenure::ErrorKind;
use tenure::backend::{Backend, LeaseBound, Page, Severity};

use tenure_testkit::Whole as _;
use tenure_testkit::servers::ZooKeeper;

use crate::support::{SERVER, bid, client, name};

#[tokio::test]
async fn only_who_has_the_credentials_may_touch_what_they_made() {
    let at = SERVER.address();
    let rest = format!("?root=/{}", name("secret"));
    let ours = client(format!("app:s3cret@{at}"), &rest).await.unwrap();
    let bid = bid("m", "a");
    assert!(ours.acquire(&bid).await.unwrap().is_won());
    let same = client(format!("app:s3cret@{at}"), &rest).await.unwrap();
    let refused = same.acquire(&bid_of("b")).await.unwrap();
    assert!(refused.owner().is_owner(&bid.contender));
    for stranger in [format!("app:wrong@{at}"), at.to_string()] {
        let stranger = client(stranger, &rest).await.unwrap();
        for error in [
            stranger.acquire(&bid_of("c")).await.unwrap_err(),
            stranger.owner(&bid.name).await.unwrap_err(),
            stranger.revoke(&bid.name, None).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
            assert!(!error.may_have_happened());
        }
        let found = stranger.check().await;
        assert!(
            found.iter().any(|f| f.severity == Severity::Bad),
            "{found:?}"
        );
    }
    let shown = format!("{ours:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

fn bid_of(who: &str) -> tenure::backend::Bid {
    bid("m", who)
}

#[tokio::test]
async fn a_chroot_keeps_two_fleets_apart() {
    let at = SERVER.address();
    let (one, two) = (name("one"), name("two"));
    let here = client(at, &format!("/{one}/deep")).await.unwrap();
    let there = client(at, &format!("/{two}")).await.unwrap();
    assert!(here.acquire(&bid_of("a")).await.unwrap().is_won());
    assert!(there.acquire(&bid_of("b")).await.unwrap().is_won());
    for client in [&here, &there] {
        let listing = client.list(&Page::first(10)).await.unwrap();
        assert_eq!(listing.entries.len(), 1);
    }
    let root = client(at, "").await.unwrap();
    let owner = root.owner(&bid_of("a").name).await.unwrap();
    assert_eq!(owner.owner().owner_id(), None);
}

#[tokio::test]
async fn the_terms_follow_the_session_that_the_servers_grant() {
    // A tick of 500 ms: sessions last 1 to 10 s.
    for (asked, given) in [("900ms", 1000), ("4s", 4000), ("1m", 10_000)] {
        let rest = format!("?session_timeout={asked}");
        let client = client(SERVER.address(), &rest).await.unwrap();
        let LeaseBound::Session(terms) = client.profile().bound else {
            panic!("its leases hang on the session");
        };
        let millis = Duration::from_millis;
        assert_eq!(terms.renew_after(), millis(given / 8));
        assert_eq!(terms.lease(), millis(given * 5 / 8));
        let warned = client.check().await;
        let warned = warned.iter().any(|f| f.severity == Severity::Warning);
        assert_eq!(warned, asked != "4s");
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_reached() {
    let port = tenure_testkit::servers::Port::choose().unwrap();
    let error = client(port.address(), "?session_timeout=500ms").await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    let error = client(SERVER.address(), "?ttl=10s").await.unwrap_err();
    assert!(error.to_string().contains("session_timeout"), "{error}");
}

#[tokio::test]
async fn the_printed_commands_make_what_is_needed() {
    let place = format!("zookeeper://{}/{}", SERVER.address(), name("printed"));
    let url = place.parse().unwrap();
    let commands = tenure::stores::setup(&url).unwrap();
    let mut made = 0;
    for line in commands.lines().filter(|line| line.starts_with("create ")) {
        let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('"')).collect();
        SERVER.shell(&words).unwrap();
        made += 1;
    }
    assert_eq!(made, 4, "{commands}");
    // They are there already, and that is no trouble.
    tenure::stores::prepare(&url, tenure::clock::Clock::boot())
        .await
        .unwrap();
    let client = tenure::stores::open(&url, tenure::clock::Clock::boot())
        .await
        .unwrap();
    assert!(client.acquire(&bid_of("a")).await.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_would_give_a_session_less_are_told_of() {
    let (one, other) = (
        ZooKeeper::start().unwrap(),
        ZooKeeper::builder()
            .set("maxSessionTimeout", "2000")
            .start()
            .unwrap(),
    );
    let check = async |hosts: String| {
        let client = client(hosts, "?session_timeout=6s").await.unwrap();
        let found = client.check().await;
        client.close().await.unwrap();
        found.into_iter().find(|found| found.subject == "servers")
    };
    let found = check(format!("{},{}", one.address(), other.address())).await;
    let found = found.unwrap();
    assert_eq!(found.severity, Severity::Bad, "{found:?}");
    assert!(found.remedy.contains("maxSessionTimeout"), "{found:?}");
    let found = check(format!("{0},{0}", one.address())).await.unwrap();
    assert_eq!(found.severity, Severity::Good, "{found:?}");
    assert_eq!(check(one.address().to_string()).await, None);
}
