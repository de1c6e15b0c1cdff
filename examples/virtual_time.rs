//! Virtual time: testing your own code against locks in no time at all.
//!
//! ```text
//! cargo run --example virtual_time
//! ```
//!
//! In a runtime whose clock is paused, time jumps to the next timer whenever
//! everybody waits. A coordinator on [`Clock::tokio`] with the memory store
//! lives in that time: leases, renewals and time-outs of hours pass at once,
//! and always in the same order. In a test, write `#[tokio::test(start_paused =
//! true)]` instead of `main`. No URL is taken: a real store has real time.

use std::time::Duration;

use tenure::clock::Clock;
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind, Lock, Result};

/// The code under test: a job that must not run twice at a time.
async fn nightly_job(lock: &Lock) -> Result<&'static str> {
    let patience = Duration::from_secs(600);
    let Some(guard) = lock.acquire_within(patience).await? else {
        return Ok("skipped: somebody else is at it");
    };
    let work = tokio::time::sleep(Duration::from_secs(3600));
    guard.protect(work).await?;
    guard.release().await?;
    Ok("done")
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    let began = std::time::Instant::now();
    let clock = Clock::tokio();
    let midnight = clock.now();
    let store = Memory::with_clock(clock.clone());
    let process = || {
        // A client each, as two machines would have.
        let builder = Coordinator::builder().clock(clock.clone());
        builder.with_backend(store.another_client())
    };
    let (one, two) = (process()?, process()?);
    let (here, there) = (one.lock("nightly")?, two.lock("nightly")?);

    // An hour of work, renewed all the while; the other gives up in time.
    let (first, second) = tokio::join!(nightly_job(&here), nightly_job(&there));
    println!("here: {}, there: {}", first?, second?);

    // What if an operator takes the lock away in the middle of it?
    let (first, ()) = tokio::join!(nightly_job(&here), async {
        tokio::time::sleep(Duration::from_secs(1800)).await;
        use tenure::backend::Administration as _;
        let taken = store.revoke(there.name(), None).await;
        assert!(taken.is_ok_and(|answer| answer.is_won()));
    });
    let lost = first.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Lost);
    println!("here: {lost}");

    two.close().await?;
    one.close().await?;
    let passed = clock.now().since(midnight);
    println!("{passed:.0?} passed in {:.0?}", began.elapsed());
    Ok(())
}
