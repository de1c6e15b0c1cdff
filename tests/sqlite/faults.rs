//! The file goes, the host was started again.

use std::fs;
use std::time::{Duration, Instant};

use tenure::backend::{Backend, Bid, Claim, ClaimAnswer};
use tenure::model::StoreTime;
use tenure::{ErrorKind, Outcome};
use tenure_testkit::Whole as _;
use tenure_testkit::peer::Peer;

use crate::support::{SOON, TestFile, id, name, open, terms};

#[test]
fn when_the_file_is_deleted_the_owner_is_deposed_and_all_go_on_with_a_new_one() {
    let place = TestFile::new();
    let peer = |id: &str| {
        Peer::contending(&place.url(), "m")
            .id(id)
            .option("--ttl", "1s")
            .option("--transition", "3s")
            .spawn()
    };
    let mut owner = peer("a");
    let first = owner.wait_acquired(SOON);
    let mut waiter = peer("b");
    waiter.wait_line(SOON, "ready");
    for end in ["", "-wal", "-shm", "-bell"] {
        fs::remove_file(place.beside(end)).unwrap();
    }
    owner.wait_line(SOON, "released");
    // One is faster; the other waits for it in the same new file.
    let [mut winner, mut loser] = loop {
        if let Some(won) = owner.acquired_within(Duration::from_millis(50)) {
            assert!(won.token > first.token);
            break [owner, waiter];
        }
        if let Some(won) = waiter.acquired_within(Duration::from_millis(50)) {
            assert!(won.token > first.token);
            break [waiter, owner];
        }
    };
    assert_eq!(loser.acquired_within(Duration::from_secs(1)), None);
    winner.tell("stop");
    loser.wait_acquired(SOON);
    for end in ["", "-bell"] {
        assert!(place.beside(end).exists(), "{end}");
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_an_error_and_its_return_is_noticed() {
    let place = TestFile::new();
    let folder = place.folder().join("sub");
    fs::create_dir(&folder).unwrap();
    let store = open(&format!("sqlite:{}/locks.db", folder.display()))
        .await
        .unwrap();
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    let token = store.acquire(&bid).await.unwrap().token().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let error = store.owner(&bid.name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    fs::create_dir(&folder).unwrap();
    let again = store.acquire(&bid).await.unwrap();
    assert!(again.token().unwrap() > token, "a new grant in a new file");
}

#[tokio::test]
async fn a_grant_of_an_earlier_boot_is_void_and_its_schedule_is_kept() {
    let place = TestFile::new();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(3_600_000));
    let answer = store.acquire(&bid).await.unwrap();
    let held = bid.held(answer.token().unwrap());
    let claim = Claim::new("plan", answer.now(), 7, answer.now());
    let claimed = store.claim_tick(&held, &claim).await.unwrap();
    assert_eq!(claimed, ClaimAnswer::Claimed);
    store.close().await.unwrap();
    let sql = place.sql();
    sql.execute_batch(
        "UPDATE simba_mutex SET boot_id = 'x'; UPDATE tenure_clock SET boot_id = 'x', epoch = 5",
    )
    .unwrap();
    drop(sql);
    let store = place.open().await;
    let owner = store.owner(&bid.name).await.unwrap();
    assert!(!owner.owner().has_owner(StoreTime::ZERO), "{owner:?}");
    let renewed = store.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(!renewed.unwrap().is_won());
    let next = Bid::new(name("m"), id("b"), terms(3_600_000));
    let next = store.acquire(&next).await.unwrap();
    assert!(next.token().unwrap() > held.token);
    // The store's clock went on from the wall clock, not from the old boot's.
    assert!(next.now().since(answer.now()) < Duration::from_secs(60));
    assert!(next.now() >= answer.now());
    let ledger = store.read_ledger(&bid.name).await.unwrap().unwrap();
    assert_eq!((ledger.last_tick, ledger.due_at), (7, answer.now()));
}

#[tokio::test]
async fn nonsense_in_one_row_is_no_trouble_for_the_others() {
    let place = TestFile::new();
    let store = place.open().await;
    let mut held = Vec::new();
    for mutex in ["a", "b", "c"] {
        let bid = Bid::new(name(mutex), id("owner"), terms(60_000));
        let token = store.acquire(&bid).await.unwrap().token().unwrap();
        held.push(bid.held(token));
    }
    let nonsense = "UPDATE simba_mutex SET version = -5 WHERE mutex = 'b'";
    place.sql().execute_batch(nonsense).unwrap();
    let renewed = store.renew(&held).await;
    let won: Vec<_> = renewed
        .iter()
        .map(|answer| answer.as_ref().ok().map(tenure::backend::Answer::is_won))
        .collect();
    assert_eq!(won, [Some(true), None, Some(true)], "{renewed:?}");
    assert_eq!(renewed[1].as_ref().unwrap_err().outcome(), Outcome::DidNot);
}

/// What counts is the time when its turn to write has come, not when it asked.
#[tokio::test]
async fn a_renewal_whose_turn_comes_after_the_lease_is_refused() {
    let place = TestFile::with("?busy_timeout=20s");
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(400));
    let sql = place.sql();
    let won = store.acquire(&bid).await.unwrap();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let held = bid.held(won.token().unwrap());
    let asked = Instant::now();
    let asking = store.clone();
    let renewal = tokio::spawn(async move { asking.renew(&[held]).await.remove(0) });
    // Longer than the lease, counted from after the grant.
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(!renewal.is_finished(), "after {:?}", asked.elapsed());
    sql.execute_batch("ROLLBACK").unwrap();
    assert!(!renewal.await.unwrap().unwrap().is_won());
    store.close().await.unwrap();
}

#[tokio::test]
async fn renewals_of_a_batch_are_one_transaction() {
    let place = TestFile::new();
    let store = place.open().await;
    let mut held = Vec::new();
    for number in 0..200 {
        let bid = Bid::new(name(&format!("m{number}")), id("owner"), terms(60_000));
        let token = store.acquire(&bid).await.unwrap().token().unwrap();
        held.push(bid.held(token));
    }
    let sql = place.sql();
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    assert!(
        store
            .renew(&held)
            .await
            .iter()
            .all(|a| a.as_ref().unwrap().is_won())
    );
    let pages = fs::metadata(place.beside("-wal")).unwrap().len() / 4096;
    assert!((1..100).contains(&pages), "{pages} pages for 200 renewals");
}

#[test]
fn a_container_with_a_boot_clock_of_its_own_agrees_on_the_time() {
    let place = TestFile::new();
    let peer = |id: &str| {
        Peer::contending(&place.url(), "m")
            .id(id)
            .option("--ttl", "30s")
            .option("--transition", "1s")
    };
    let mut here = peer("a").spawn();
    here.wait_acquired(SOON);
    let elsewhere = "unshare --map-root-user --time --boottime 100000 --fork --kill-child --";
    let elsewhere: Vec<_> = elsewhere.split(' ').collect();
    let mut there = peer("b").through(&elsewhere).spawn();
    there.wait_line(SOON, "ready");
    let early = there.acquired_within(Duration::from_secs(1));
    assert_eq!(early, None, "by its own clock the lease is long over");
    here.tell("stop");
    here.wait_line(SOON, "stopped");
    assert!(there.wait_acquired(SOON).valid_for <= Duration::from_secs(31));
    here.tell("start");
    assert_eq!(here.acquired_within(Duration::from_secs(1)), None);
    there.tell("quit");
    here.wait_acquired(SOON);
}
