//! Who waits costs nothing and is told at once.

use std::fs;
use std::time::{Duration, Instant};

use tenure::backend::{AnyBackend, Backend, Bid, Held, Hints, Interest};
use tenure::{Coordinator, LeaseLost};
use tenure_testkit::peer::Peer;

use crate::support::{SOON, TestFile, id, name, terms};

async fn win(store: &AnyBackend, mutex: &str) -> Held {
    let bid = Bid::new(name(mutex), id("owner"), terms(120_000));
    let answer = store.acquire(&bid).await.unwrap();
    bid.held(answer.token().expect("it was free"))
}

/// A refused bid that listens.
async fn stand(store: &AnyBackend, mutex: &str) -> (Bid, Hints) {
    let bid = Bid::new(name(mutex), id("waiter"), terms(120_000));
    assert!(!store.acquire(&bid).await.unwrap().is_won());
    let hints = store.changes(&Interest::in_turn(&bid));
    assert!(!store.acquire(&bid).await.unwrap().is_won());
    (bid, hints)
}

/// The first attempt after a hint that wins.
async fn win_by_hints(store: &AnyBackend, bid: &Bid, hints: &mut Hints) -> Held {
    let won = tokio::time::timeout(SOON, async {
        loop {
            hints.next().await.expect("it is open");
            let answer = store.acquire(bid).await.unwrap();
            if answer.is_won() {
                return bid.held(answer.token().unwrap());
            }
        }
    });
    won.await.expect("it was told")
}

#[tokio::test]
async fn a_waiter_is_woken_within_milliseconds() {
    let place = TestFile::new();
    let (here, there) = (place.open().await, place.open().await);
    let mut times = Vec::new();
    for _ in 0..50 {
        let held = win(&here, "m").await;
        let (bid, mut hints) = stand(&there, "m").await;
        let start = Instant::now();
        here.release(&held).await.unwrap();
        let won = win_by_hints(&there, &bid, &mut hints).await;
        times.push(start.elapsed());
        there.release(&won).await.unwrap();
    }
    times.sort();
    let median = times[times.len() / 2];
    println!(
        "release to grant: median {median:?}, slowest {:?}",
        times[49]
    );
    // A few hundred microseconds; the rest is for a machine with other work.
    assert!(median < Duration::from_millis(100), "{times:?}");
}

#[tokio::test]
async fn waiting_writes_nothing() {
    let place = TestFile::new();
    let store = place.open().await;
    let _held = win(&store, "m").await;
    let mut peers: Vec<_> = (0..3)
        .map(|_| Peer::contending(&place.url(), "m").spawn())
        .collect();
    for peer in &mut peers {
        peer.wait_line(SOON, "ready");
    }
    let coordinator = Coordinator::connect(place.url()).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await.map(drop) });
    let files = || {
        ["", "-wal", "-bell"].map(|end| {
            let path = place.beside(end);
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            (fs::read(&path).unwrap(), modified)
        })
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (before, ticks) = (files(), peers.iter().map(cpu_ticks).sum::<u64>());
    // Longer than the safety look, so that every waiter looks meanwhile.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(before == files(), "a waiting process wrote");
    let spent = peers.iter().map(cpu_ticks).sum::<u64>() - ticks;
    assert!(spent <= 20, "three waiters spent {spent} ticks of 10 ms");
    waiting.abort();
    drop(peers);
    coordinator.close().await.unwrap();
}

/// What a write to the wake file changes, or a touch.
fn wake_file(place: &TestFile) -> (Vec<u8>, std::time::SystemTime) {
    let path = place.beside("-bell");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    (fs::read(&path).unwrap(), modified)
}

#[tokio::test]
async fn while_no_process_listens_the_wake_file_is_left_alone() {
    let place = TestFile::new();
    let store = place.open().await;
    let cycle = async || {
        let held = win(&store, "m").await;
        store.release(&held).await.unwrap();
    };
    let before = wake_file(&place);
    for _ in 0..20 {
        cycle().await;
    }
    assert!(before == wake_file(&place), "it was told to nobody");

    // A process that waits for anything in the file is told, until it dies.
    let _held = win(&store, "other").await;
    let mut peer = Peer::contending(&place.url(), "other").spawn();
    peer.wait_line(SOON, "ready");
    let end = Instant::now() + SOON;
    while before == wake_file(&place) {
        assert!(Instant::now() < end, "it is not told");
        cycle().await;
    }
    peer.kill();
    let before = wake_file(&place);
    for _ in 0..20 {
        cycle().await;
    }
    assert!(before == wake_file(&place), "it was told to the dead");

    // So is one who follows the owners, of grants too.
    let _hints = store.changes(&Interest::in_owner(&name("m")));
    store.owner(&name("m")).await.unwrap();
    let bell = fs::File::options().write(true).open(place.beside("-bell"));
    bell.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let before = wake_file(&place);
    let held = win(&store, "m").await;
    let touched = wake_file(&place);
    assert!(before.0 == touched.0 && before.1 != touched.1);
    store.release(&held).await.unwrap();
    assert!(touched.0 != wake_file(&place).0);
}

/// What a process has computed so far.
fn cpu_ticks(peer: &Peer) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", peer.pid())).unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let number = |index: usize| fields[index].parse::<u64>().unwrap();
    number(11) + number(12)
}

#[tokio::test]
async fn a_refused_bid_does_not_wait_for_those_who_write() {
    let place = TestFile::with("?busy_timeout=60s");
    let (here, there) = (place.open().await, place.open().await);
    let held = win(&here, "m").await;
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let bid = Bid::new(name("m"), id("waiter"), terms(120_000));
    let refused = tokio::time::timeout(SOON, there.acquire(&bid)).await;
    assert!(!refused.expect("no lock is needed").unwrap().is_won());
    let left = tokio::time::timeout(SOON, there.leave(&bid)).await;
    left.expect("there is nothing to undo").unwrap();
    sql.execute_batch("ROLLBACK").unwrap();
    here.release(&held).await.unwrap();
}

#[tokio::test]
async fn a_bell_that_was_deleted_or_moved_is_hung_up_again() {
    let place = TestFile::new();
    let (here, there) = (place.open().await, place.open().await);
    for round in 0..4 {
        let held = win(&here, "m").await;
        let (bid, mut hints) = stand(&there, "m").await;
        if round % 2 == 0 {
            fs::remove_file(place.beside("-bell")).unwrap();
        } else {
            fs::rename(place.beside("-bell"), place.beside("-moved")).unwrap();
        }
        here.release(&held).await.unwrap();
        let won = win_by_hints(&there, &bid, &mut hints).await;
        there.release(&won).await.unwrap();
        assert!(place.beside("-bell").exists());
    }
}

#[tokio::test]
async fn a_release_of_another_name_wakes_nobody() {
    let place = TestFile::new();
    let (here, there) = (place.open().await, place.open().await);
    let _held = win(&here, "m").await;
    let (_bid, mut hints) = stand(&there, "m").await;
    for _ in 0..20 {
        let other = win(&here, "other").await;
        here.release(&other).await.unwrap();
    }
    let heard = tokio::time::timeout(Duration::from_millis(300), hints.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}

#[tokio::test]
async fn the_end_of_a_lease_is_heard_without_a_release() {
    let place = TestFile::new();
    let (here, there) = (place.open().await, place.open().await);
    let short = Bid::new(name("m"), id("dead"), terms(400));
    assert!(here.acquire(&short).await.unwrap().is_won());
    let (bid, mut hints) = stand(&there, "m").await;
    drop(here);
    win_by_hints(&there, &bid, &mut hints).await;
}

#[tokio::test]
async fn locks_of_two_coordinators_follow_each_other() -> Result<(), LeaseLost> {
    let place = TestFile::new();
    let here = Coordinator::connect(place.url()).await.unwrap();
    let there = Coordinator::connect(place.url()).await.unwrap();
    let mut last = None;
    for _ in 0..20 {
        let guard = here.lock("m").unwrap().acquire().await.unwrap();
        let other = there.lock("m").unwrap();
        let waiting = tokio::spawn(async move { other.acquire().await.unwrap() });
        assert!(last < Some(guard.token()?));
        guard.release().await.unwrap();
        let next = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap();
        last = Some(next.token()?);
        next.release().await.unwrap();
    }
    here.close().await.unwrap();
    there.close().await.unwrap();
    Ok(())
}

/// Another program's write keeps the answer back for longer than the wait.
#[tokio::test]
async fn a_wait_shorter_than_one_call_gets_what_is_free() {
    let place = TestFile::with("?busy_timeout=20s");
    let coordinator = tenure::Coordinator::connect(place.url()).await.unwrap();
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        sql.execute_batch("ROLLBACK").unwrap();
    });
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire_within(Duration::from_millis(1)).await.unwrap();
    assert!(guard.is_some(), "nobody else wants it");
    busy.join().unwrap();
    drop(guard);
    coordinator.close().await.unwrap();
}
