//! What can be done at once is done on the thread of the caller; what would have
//! to wait is not.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tenure::backend::{AnyBackend, Backend, Bid};

use crate::support::{SOON, TestFile, id, name, terms};

/// What `call` answers without having waited for anything.
fn at_once<T>(call: impl Future<Output = T>) -> Option<T> {
    let mut nobody = Context::from_waker(Waker::noop());
    match pin!(call).poll(&mut nobody) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn bid(mutex: &str, who: &str) -> Bid {
    Bid::new(name(mutex), id(who), terms(120_000))
}

/// Past the first writes, which are the thread's.
async fn warm(store: &AnyBackend) {
    for _ in 0..2 {
        let bid = bid("warm", "a");
        let won = store.acquire(&bid).await.unwrap();
        store
            .release(&bid.held(won.token().unwrap()))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn who_takes_and_frees_alone_waits_for_no_other_thread() {
    const CYCLES: usize = 512;
    let file = TestFile::new();
    let store = file.open().await;
    let mut waited = 0;
    for _ in 0..CYCLES {
        let bid = bid("m", "a");
        let taken = store.acquire(&bid);
        let won = match at_once(taken) {
            Some(won) => won.unwrap(),
            // It was given to the thread and dropped: asked again, it is found.
            None => {
                waited += 1;
                store.acquire(&bid).await.unwrap()
            }
        };
        let held = bid.held(won.token().expect("it was free"));
        match at_once(store.release(&held)) {
            Some(freed) => assert!(freed.unwrap().is_won()),
            None => {
                waited += 1;
                let _ = store.release(&held).await.unwrap();
            }
        }
    }
    // Two of 256 writes are the thread's. It is out of the way when it answers:
    // else one call that waited would make the next one wait, and so on.
    assert!(
        waited <= CYCLES / 16,
        "{waited} of {} calls waited",
        2 * CYCLES
    );
}

#[tokio::test]
async fn a_caller_does_not_wait_while_another_process_writes() {
    let file = TestFile::with("?busy_timeout=60s");
    let store = file.open().await;
    warm(&store).await;
    let sql = file.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let wanted = bid("m", "a");
    let asked = Instant::now();
    let mut taking = pin!(store.acquire(&wanted));
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(taking.as_mut().poll(&mut nobody).is_pending());
    assert!(asked.elapsed() < Duration::from_secs(30), "it waited");
    // Who only looks is answered meanwhile, by the thread or at once.
    sql.execute_batch("ROLLBACK").unwrap();
    let won = tokio::time::timeout(SOON, taking).await.unwrap().unwrap();
    assert!(won.is_won());
}

#[tokio::test]
async fn where_a_commit_waits_for_the_disk_the_thread_does() {
    let file = TestFile::with("?synchronous=full");
    let store = file.open().await;
    warm(&store).await;
    for _ in 0..8 {
        let bid = bid("m", "a");
        let mut taking = pin!(store.acquire(&bid));
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(taking.as_mut().poll(&mut nobody).is_pending());
        let won = taking.await.unwrap();
        let held = bid.held(won.token().unwrap());
        let mut freeing = pin!(store.release(&held));
        assert!(freeing.as_mut().poll(&mut nobody).is_pending());
        assert!(freeing.await.unwrap().is_won());
    }
}

#[tokio::test]
async fn one_who_leaves_does_not_overtake_its_own_bid() {
    let file = TestFile::with("?busy_timeout=60s");
    let store = file.open().await;
    warm(&store).await;
    for round in 0..20 {
        let sql = file.sql();
        sql.execute_batch("BEGIN IMMEDIATE").unwrap();
        let bid = bid("m", "a");
        // Given to the thread, which waits for the writer; then given up.
        assert!(at_once(store.acquire(&bid)).is_none());
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let leaving = store.leave(&bid);
        let writer = async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            sql.execute_batch("ROLLBACK").unwrap();
        };
        let (left, ()) = tokio::join!(leaving, writer);
        left.unwrap();
        let owner = store.owner(&bid.name).await.unwrap();
        assert!(
            owner.owner().owner_id().is_none(),
            "round {round}: {owner:?}"
        );
    }
}

#[tokio::test]
async fn the_log_stays_short_though_callers_write_it() {
    const CYCLES: usize = 2500;
    let file = TestFile::new();
    // Who has it open keeps the log from being removed.
    let _other = file.open().await;
    let store = file.open().await;
    for _ in 0..CYCLES {
        let bid = bid("m", "a");
        let won = store.acquire(&bid).await.unwrap();
        store
            .release(&bid.held(won.token().unwrap()))
            .await
            .unwrap();
    }
    let log = std::fs::metadata(file.beside("-wal")).unwrap().len();
    // A page for each write, and a third more than the thread lets it be.
    assert!(log < 1400 * 4120, "{log} bytes after {} writes", 2 * CYCLES);
}
