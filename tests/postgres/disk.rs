//! What a server that waits for its disk at each commit keeps when it crashes, and what it may
//! forget.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::Backend;
use tenure_testkit::servers::Postgres;

use crate::support::{bid, client, renew, terms, win};

/// How often a crash must come before the disk does. The server writes what was committed without
/// a wait by itself, every ten seconds, so one is nearly always enough.
const TRIES: usize = 10;

/// Waits for its disk, and writes by itself as seldom as it can.
fn server() -> Postgres {
    let server = Postgres::builder().set("fsync", "on");
    server.set("wal_writer_delay", "10s").start().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_a_crash_undoes_keeps_the_mutex_until_the_leases_end_and_no_longer() {
    let sessions = tokio::spawn(crash_after_a_release(""));
    crash_after_a_release("?notify=off").await;
    sessions.await.unwrap();
}

async fn crash_after_a_release(options: &str) {
    let server = server();
    let url = format!("{}{options}", server.url());
    for number in 1..=TRIES {
        let (freed, kept) = (format!("freed-{number}"), format!("kept-{number}"));
        let store = client(&url).await.unwrap();
        let mut mine = bid(&kept, "a");
        mine.terms = terms(60_000, 60_000);
        let kept = win(&store, &mine).await;
        let mut mine = bid(&freed, "a");
        mine.terms = terms(4_000, 4_000);
        let begun = Instant::now();
        let held = win(&store, &mine).await;
        // The last write: a take behind it would wait until it is on the disk, too.
        assert!(store.release(&held).await.unwrap().is_won());
        tokio::task::block_in_place(|| server.restart().unwrap());
        let store = client(&url).await.unwrap();
        let answer = renew(&store, &kept).await.unwrap();
        assert!(answer.is_won(), "a grant survives: {answer:?}");
        let answer = store.owner(&held.name).await.unwrap();
        let owner = answer.owner();
        if !owner.is_owner(&held.contender) && number < TRIES {
            continue;
        }
        assert!(owner.is_owner(&held.contender), "nothing was undone");
        assert_eq!(owner.token(), Some(held.token), "it is the old grant");
        // Not before the end of the lease, and soon after it.
        let next = Coordinator::connect(&url).await.unwrap();
        let lock = next.lock(&freed).unwrap();
        let won = lock.acquire_within(Duration::from_secs(30)).await.unwrap();
        let waited = begun.elapsed();
        let won = won.expect("free at the end of the lease");
        let soon = Duration::from_millis(7_900)..Duration::from_secs(14);
        assert!(soon.contains(&waited), "{waited:?}");
        assert!(won.token().unwrap() > held.token);
        won.release().await.unwrap();
        next.close().await.unwrap();
        return;
    }
}

#[tokio::test]
async fn what_makes_an_owner_is_on_the_disk_before_it_is_answered_and_what_frees_is_not() {
    let server = server();
    let store = client(&format!("{}?connections=1", server.url())).await;
    let store = store.unwrap();
    let unwritten = || {
        let sql = "SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn()";
        server.sql(sql).unwrap().parse::<i64>().unwrap()
    };
    let mine = bid("m", "a");
    let mut waits = 0;
    // The server writes by itself now and then, and its other processes leave something to be
    // written: so most times must show it, not all.
    for _ in 0..TRIES {
        let held = win(&store, &mine).await;
        let taken = unwritten();
        assert!(renew(&store, &held).await.unwrap().is_won());
        let renewed = unwritten();
        assert!(store.release(&held).await.unwrap().is_won());
        let freed = unwritten();
        waits += usize::from(taken == 0 && renewed == 0 && freed > 0);
    }
    assert!(waits > TRIES / 2, "{waits} of {TRIES}");
}
