//! A lock: two processes, one owner at a time.
//!
//! ```text
//! cargo run --example lock [URL]      # or TENURE_URL; otherwise memory:demo
//! ```
//!
//! Two coordinators stand for two processes here. With the URL of a real store
//! run it twice, in two terminals.

use std::time::Duration;

use tenure::{Coordinator, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let (here, there) = (connect().await?, connect().await?);

    let lock = here.lock("demo-lock")?;
    let guard = lock.acquire().await?;
    println!("here:  ours with token {}", guard.token()?);

    // Another process looks, tries, and waits.
    let other = there.lock("demo-lock")?;
    if let Some(owner) = other.owner().await? {
        println!("there: it belongs to {owner}");
    }
    assert!(other.try_acquire().await?.is_none());
    let waiting = tokio::spawn(async move {
        let guard = other.acquire_within(Duration::from_secs(30)).await?;
        if let Some(guard) = &guard {
            println!("there: ours now, with token {}", guard.token()?);
        }
        Ok::<_, tenure::Error>(guard)
    });

    // The work ends with it, or is dropped the moment ownership is lost.
    let report = guard.protect(write_report()).await?;
    println!("here:  {report}, good for {:?} yet", guard.remaining());
    guard.release().await?;
    println!("here:  released, and the store has confirmed it");

    drop(waiting.await.expect("the task does not panic")?); // released behind our back
    there.close().await?;
    here.close().await
}

async fn write_report() -> &'static str {
    tokio::time::sleep(Duration::from_millis(300)).await;
    "the report is written"
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
