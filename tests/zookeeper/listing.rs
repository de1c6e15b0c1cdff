//! Nodes that others have made, many mutexes, and removing what is old.

use std::sync::Arc;
use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{AnyBackend, Backend, Bid, Page, Prune};
use tenure::model::{FencingToken, MutexName};
use tenure_testkit::Whole as _;
use tenure_testkit::every_store::damage::{damage, is_isolated_and_mended};
use tenure_testkit::every_store::ledgers;
use tenure_testkit::every_store::prune::{pruned, works_for_people};

use crate::support::{SERVER, bid, client, make, raw};

/// A coordinator below a node of its own, which it makes.
async fn below(root: &str, names: &str) -> Coordinator {
    make(&raw().await, root, "").await;
    let url = format!(
        "zookeeper://{}{root}?session_timeout=8s&names={names}",
        SERVER.address()
    );
    Coordinator::connect(&url).await.unwrap()
}

#[tokio::test]
async fn strange_nodes_are_named_and_mended_and_hurt_no_other() {
    // Beside JVM peers every node is how its name is written.
    strange_nodes("/damaged", "shared", "belongs to no session").await;
}

#[tokio::test]
async fn strange_nodes_among_encoded_names_are_too() {
    strange_nodes("/damaged-encoded", "encoded", "not how the name").await;
}

async fn strange_nodes(root: &str, names: &str, percent: &'static str) {
    let coordinator = below(root, names).await;
    let raw = raw().await;
    let make = async |path: &str, data: &str| make(&raw, &format!("{root}{path}"), data).await;
    make("/simba", "x").await;
    let long_child = format!("_c_{}-latch-0000000000", "x".repeat(130));
    for (mutex, child) in [
        ("persistent", "_c_a-latch-0000000000"),
        ("junk", "!junk"),
        ("nested", "_c_b-latch-0000000000"),
        ("long-child", long_child.as_str()),
        ("a%2fb", "_c_c-latch-0000000000"),
    ] {
        make(&format!("/simba/{mutex}"), "x").await;
        make(&format!("/simba/{mutex}/{child}"), "a").await;
    }
    make("/simba/nested/_c_b-latch-0000000000/deeper", "x").await;
    let padded = "x".repeat(70);
    make(&format!("/simba/{padded}"), "x").await;
    make(&format!("/simba/{padded}/_c_d-latch-0000000000"), "a").await;
    let damage = [
        damage("persistent", "belongs to no session"),
        damage("junk", "belongs to no session"),
        damage("nested", "belongs to no session"),
        damage("long-child", "belongs to no session"),
        damage("a%2fb", percent),
        damage(&padded, "belongs to no session"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_thousand_mutexes_are_told_in_pages() {
    make(&raw().await, "/many", "").await;
    let client = client(SERVER.address(), "/many?session_timeout=20s")
        .await
        .unwrap();
    let bids: Vec<_> = (0..1000)
        .map(|number| bid(&format!("m{number:04}"), "a"))
        .collect();
    let client = Arc::new(client);
    let mut tokens = acquire_all(&client, &bids).await;
    let mut names = names(&client).await;
    // They are not renewed: on a slow machine the first end before the last begin.
    for trial in 0.. {
        assert!(trial < 10, "never a thousand at a time");
        let now = acquire_all(&client, &bids).await;
        if now == std::mem::replace(&mut tokens, now.clone()) {
            break;
        }
        names = self::names(&client).await;
    }
    assert_eq!(names.len(), 1000);
    assert!(names.is_sorted());
    client.close().await.unwrap();
}

/// The tokens, in the order of the bids, each of which wins or has won.
async fn acquire_all(client: &Arc<AnyBackend>, bids: &[Bid]) -> Vec<FencingToken> {
    let acquire = |bid: &Bid| {
        let (client, bid) = (client.clone(), bid.clone());
        tokio::spawn(async move { client.acquire(&bid).await.unwrap().token().unwrap() })
    };
    let mut tokens = Vec::new();
    // Many together, so that they last together; not so many that one waits in vain.
    for some in bids.chunks(100) {
        let begun: Vec<_> = some.iter().map(acquire).collect();
        for token in begun {
            tokens.push(token.await.unwrap());
        }
    }
    tokens
}

/// All names, three hundred at a time.
async fn names(client: &AnyBackend) -> Vec<MutexName> {
    let start = std::time::Instant::now();
    let mut page = Page::first(300);
    let mut names = Vec::new();
    loop {
        let listing = client.list(&page).await.unwrap();
        names.extend(listing.entries.iter().map(|entry| entry.name.clone()));
        match listing.next_page(&page) {
            Some(next) => page = next,
            None => break,
        }
    }
    println!("{} mutexes in {:?}", names.len(), start.elapsed());
    names
}

#[tokio::test]
async fn empty_parents_and_old_ledgers_go() {
    let coordinator = below("/aged", "shared").await;
    let raw = raw().await;
    for path in ["/aged/simba", "/aged/simba/empty", "/aged/simba/used"] {
        make(&raw, path, "").await;
    }
    make(&raw, "/aged/simba/used/_c_a-latch-0000000000", "a").await;
    let client = client(SERVER.address(), "/aged?session_timeout=8s")
        .await
        .unwrap();
    let held = bid("yearly", "a");
    let answer = client.acquire(&held).await.unwrap();
    let held = held.held(answer.token().unwrap());
    let at = tenure::model::StoreTime::from_millis(1);
    let claim = tenure::backend::Claim::new("plan", at, 3, at);
    client.claim_tick(&held, &claim).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let second = Duration::from_secs(1);
    let all = Prune::unused_for(second).with_schedules();
    assert_eq!(
        pruned(&client, all.clone()).await,
        (1, 0),
        "its leader is in office"
    );
    client.release(&held).await.unwrap();
    assert_eq!(
        pruned(&client, Prune::unused_for(second)).await.1,
        0,
        "not asked for"
    );
    assert!(client.read_ledger(&held.name).await.unwrap().is_some());
    let year = Prune::unused_for(Duration::from_secs(366 * 24 * 3600)).with_schedules();
    assert_eq!(
        pruned(&client, year).await,
        (0, 0),
        "a yearly plan is in use"
    );
    assert_eq!(pruned(&client, all).await.1, 1);
    assert!(client.read_ledger(&held.name).await.unwrap().is_none());
    let left = raw.list_children("/aged/simba").await.unwrap();
    let has = |name: &str| left.iter().any(|node| node == name);
    assert!(has("used") && !has("empty"), "{left:?}");
    works_for_people(&coordinator).await;
}

#[tokio::test]
async fn damaged_ledgers_are_named_and_hide_no_other() {
    for (path, data) in [
        ("", "x"),
        ("/tenure", "x"),
        ("/tenure/schedule", "x"),
        ("/tenure/schedule/bad", "nonsense"),
        ("/tenure/schedule/half", "plan=rate"),
    ] {
        let path = format!("/ledgers{path}");
        SERVER.shell(&["create", &path, data]).unwrap();
    }
    // Long: nothing here is about its end.
    let rest = "/ledgers?session_timeout=30s&names=shared";
    let client = client(SERVER.address(), rest).await.unwrap();
    let url = format!("zookeeper://{}{rest}", SERVER.address());
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let damaged = ["bad", "half"];
    ledgers::damage_hides_no_other(&client, &coordinator, &damaged).await;
}
