//! A leader with a worker of its own, and a shutdown that hands over at once.
//!
//! The worker is a task that holds the office. It listens to its tenure: when
//! the end is asked for, it brings its work to a good end, still in office, and
//! lets go. `close` waits for that, and the next leader does not wait at all.
//!
//! ```text
//! cargo run --example graceful [URL]  # or TENURE_URL; otherwise memory:demo
//! ```

use std::time::{Duration, Instant};

use tenure::{Campaign, CampaignEvent, Coordinator, Leadership, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let (first, second) = (connect().await?, connect().await?);

    let mut campaign = first.elector("demo-graceful")?.campaign()?;
    let worker = tokio::spawn(work(elected(&mut campaign).await));
    let mut successor = second.elector("demo-graceful")?.campaign()?;

    tokio::time::sleep(Duration::from_millis(300)).await;
    println!("shutting the first process down");
    let asked = Instant::now();
    let (closed, next) = tokio::join!(first.close(), elected(&mut successor));
    closed?; // would name what could not be given back
    println!("the next leader was elected {:?} later", asked.elapsed());
    assert!(asked.elapsed() < Duration::from_secs(5));

    let pieces = worker.await.expect("the worker does not panic")?;
    println!("the worker did {pieces} pieces, the last one whole");
    drop(next);
    second.close().await
}

/// Works piece by piece for as long as it leads and is not asked to end.
async fn work(office: Leadership) -> Result<u32> {
    let tenure = office.tenure();
    let mut pieces = 0;
    while !tenure.is_ending() {
        // A piece is never cut in two: it is short, and checks its token.
        tokio::time::sleep(Duration::from_millis(20)).await;
        tenure.token()?;
        pieces += 1;
        // Idle until the next piece, or until the end is asked for.
        let _ = tokio::time::timeout(Duration::from_millis(50), tenure.ending()).await;
    }
    Ok(pieces)
} // the office is dropped here: given back, and not before

async fn elected(campaign: &mut Campaign) -> Leadership {
    loop {
        match campaign.next().await.expect("the coordinator is open") {
            CampaignEvent::Elected(leadership) => return leadership,
            CampaignEvent::Trouble(error) => println!("will be tried again: {error}"),
            _ => {}
        }
    }
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
