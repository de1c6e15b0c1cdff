//! A job that one process of the fleet runs at a fixed rate.
//!
//! `cargo run --example schedule [-- redis://localhost]`: start it several
//! times over one store, and kill the one that runs.

use std::time::Duration;

use tenure::schedule::{Misfire, ScheduleConfig};
use tenure::{Coordinator, Tick};

/// Settles what is open. Every write carries the token, so that one of a
/// leader that was too slow is refused.
async fn settle(tick: Tick) -> Result<(), tenure::Error> {
    let token = tick.tenure().token()?;
    println!("tick {}: settling under token {token}", tick.number());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:")).await?;
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(200))?
        .with_misfire(Misfire::Skip)
        .with_time_limit(Duration::from_secs(10))?;
    let scheduler = coordinator
        .scheduler("order-settlement", config)?
        .with_worker("settler")?;
    let handle = scheduler.start(settle)?;

    tokio::time::sleep(Duration::from_secs(1)).await;
    let status = handle.status();
    println!("{} runs, {} failures", status.runs, status.failures);
    handle.stop().await?; // waits for the run under way
    coordinator.close().await
}
