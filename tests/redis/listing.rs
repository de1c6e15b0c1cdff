//! Listing many mutexes: what it costs, and that nothing is left out.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Page};
use tenure_testkit::Whole as _;
use tenure_testkit::every_store::damage::all;
use tenure_testkit::servers::{Flow, Proxy, Redis, RedisCluster, Way};

use crate::support::{bid, calls, client, fresh, long, open, url, win};

/// Makes mutexes as their owners would have: three keys each.
fn fill(server: &Redis, from: usize, to: usize) {
    let script = "for at = tonumber(ARGV[1]), tonumber(ARGV[2]) do \
         local key = string.format('simba:{job-%05d}', at) \
         redis.call('SET', key, '0:1@h', 'PX', 900000) \
         redis.call('SET', key .. ':grant', '1790000000000000 ff', 'PX', 900000) \
         redis.call('SET', key .. ':fence', '1790000000000000') end";
    let (from, to) = (from.to_string(), to.to_string());
    server.command(&["EVAL", script, "0", &from, &to]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_thousand_mutexes_are_three_round_trips_a_thousand() {
    const COUNT: usize = 30_000;
    let server = Redis::start().unwrap();
    for from in (1..=COUNT).step_by(5_000) {
        fill(&server, from, from + 4_999);
    }
    let coordinator = Coordinator::connect(url(&server)).await.unwrap();
    let looks = || calls(&server, "evalsha") + calls(&server, "eval");
    let (before, start) = (looks(), std::time::Instant::now());
    let entries = all(&coordinator, 1000).await;
    let (trips, took) = (looks() - before, start.elapsed());
    assert_eq!(entries.len(), COUNT);
    assert!(entries.is_sorted_by(|a, b| a.name < b.name));
    assert!(
        entries
            .iter()
            .all(|entry| entry.fault.is_none() && entry.token.is_some())
    );
    // Each command a round trip at most: those of a page go out together.
    let scans = calls(&server, "scan");
    println!("{trips} looks and {scans} scans for {COUNT} mutexes in {took:?}");
    assert!(trips <= 3 * COUNT as u64 / 1000, "{trips} looks");
    assert!(
        scans <= 1 + COUNT as u64 * 3 / 5000,
        "one walk for all pages: {scans}"
    );
    // One of a name does not look at the others.
    let before = (calls(&server, "scan"), calls(&server, "evalsha"));
    let name = tenure::model::MutexName::new("job-00007").unwrap();
    let listing = coordinator.list(&Page::of([name])).await.unwrap();
    assert_eq!(listing.entries.len(), 1);
    let after = (calls(&server, "scan"), calls(&server, "evalsha"));
    assert_eq!(after, (before.0, before.1 + 1));
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_that_takes_long_is_told_in_pages_to_be_continued() {
    const COUNT: usize = 30_000;
    let server = Redis::start().unwrap();
    for from in (1..=COUNT).step_by(5_000) {
        fill(&server, from, from + 4_999);
    }
    // A key that is not ours, whose name comes before all others.
    server.command(&["SET", "simba:{}", "odd"]).unwrap();
    let far = Proxy::start(server.address()).unwrap();
    let client = open(&format!("redis://127.0.0.1:{}", far.port())).await;
    far.set(Way::ToClient, Flow::Delay(Duration::from_millis(200)));
    let (mut page, mut names, mut empty) = (Page::first(COUNT), Vec::new(), 0);
    loop {
        let listing = client.list(&page).await.unwrap();
        assert!(listing.now > tenure::model::StoreTime::ZERO);
        empty += usize::from(listing.entries.is_empty());
        names.extend(listing.entries.iter().map(|entry| entry.name.clone()));
        let Some(next) = listing.next_page(&page) else {
            break;
        };
        page = next;
    }
    assert!(empty > 1, "eighteen strides of 200 ms: {empty}");
    assert_eq!(names.len(), COUNT + 1);
    assert!(names.is_sorted() && names[0].as_str().is_empty());
    names.dedup();
    assert_eq!(names.len(), COUNT + 1, "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_too_and_nothing_is_left_out() {
    const COUNT: usize = 1_000;
    let cluster = RedisCluster::start().unwrap();
    let client = open(&crate::cluster::url(&cluster)).await;
    let mut names = BTreeSet::new();
    for number in 0..COUNT {
        let bid = bid(&fresh(&format!("m{number}")), "0:1@h", long());
        win(&client, &bid).await;
        names.insert(bid.name);
    }
    let reads = || -> u64 {
        let of = |node: &Redis| {
            let stats = node.command(&["INFO", "stats"]).unwrap();
            let line = stats
                .lines()
                .find_map(|l| l.strip_prefix("total_reads_processed:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        cluster.nodes().iter().map(of).sum()
    };
    let before = reads();
    let listing = client.list(&Page::first(COUNT)).await.unwrap();
    let reads = reads() - before;
    let told: BTreeSet<_> = listing
        .entries
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    assert_eq!(told, names);
    assert_eq!(listing.next, None);
    // What three servers read from their sockets, this question included, and
    // a large request in as many pieces as come; one by one it would be more
    // than a thousand.
    println!("{reads} reads for {COUNT} mutexes");
    assert!(reads < 400, "{reads} reads");
    client.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_there_throughout_is_listed_while_others_come_and_go() {
    let server = Redis::start().unwrap();
    fill(&server, 1, 500);
    let client = client(&server).await;
    let mut page = Page::first(50);
    let mut told = Vec::new();
    loop {
        let listing = client.list(&page).await.unwrap();
        told.extend(listing.entries.iter().map(|entry| entry.name.to_string()));
        // The next one is gone before its page, and one comes behind.
        fill(&server, 10_000 + told.len(), 10_000 + told.len());
        let gone = format!("simba:{{job-{:05}}}", told.len() + 1);
        server
            .command(&["DEL", &gone, &format!("{gone}:grant")])
            .unwrap();
        match listing.next_page(&page) {
            Some(next) => page = next,
            None => break,
        }
    }
    assert!(told.is_sorted() && told.len() >= 490, "{}", told.len());
    for number in (1..=500).filter(|number| number % 50 != 1) {
        let name = format!("job-{number:05}");
        assert!(told.contains(&name), "{name}");
    }
}
