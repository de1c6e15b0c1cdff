//! A scheduled job that is a plain function, on a thread of its own.
//!
//! `cargo run --example blocking_schedule [-- redis://localhost]`

use std::error::Error;
use std::time::Duration;

use tenure::blocking::{Coordinator, Tick};
use tenure::schedule::ScheduleConfig;

/// Nothing can stop a thread from outside: long work looks at its tenure.
fn collect(tick: Tick) -> Result<(), Box<dyn Error + Send + Sync>> {
    for page in 0..3 {
        let token = tick.tenure().token()?;
        println!("tick {}: page {page} under token {token}", tick.number());
    }
    Ok(())
}

fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:"))?;
    // Two hundred milliseconds between the end of one run and the next.
    let config = ScheduleConfig::delay(Duration::ZERO, Duration::from_millis(200))?;
    let scheduler = coordinator
        .scheduler("metrics", config)?
        .with_worker("metrics-collector")?;
    let handle = scheduler.start(collect)?;

    std::thread::sleep(Duration::from_millis(900));
    handle.stop()?;
    println!("{:?}", handle.status().last_run);
    coordinator.close()
}
