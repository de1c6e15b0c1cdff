//! A job by a cron expression in a time zone.
//!
//! `cargo run --example cron --features cron [-- redis://localhost]`

use std::time::Duration;

use tenure::Coordinator;
use tenure::schedule::ScheduleConfig;

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:")).await?;

    // Every night at half past two, whatever the clocks do in spring and
    // autumn; a night that a crash interrupted is made good by the next leader.
    let nightly = ScheduleConfig::cron("30 2 * * *", "Europe/Zurich")?.with_rerun_of_unfinished();
    let nightly = coordinator.scheduler("nightly-report", nightly)?;
    let report =
        nightly.start(|tick| async move { println!("report for {:?}", tick.due_time()) })?;

    // And one that is worth waiting for: every second.
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let config = ScheduleConfig::cron("* * * * * *", "UTC")?;
    let heartbeat = coordinator.scheduler("heartbeat", config)?;
    heartbeat.start(move |tick| {
        let sent = tell.send(tick);
        async move { sent }
    })?;
    for _ in 0..2 {
        if let Some(tick) = told.recv().await {
            println!("beat {} due at {}", tick.number(), tick.due_at());
        }
    }
    while report.status().next_run.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("the next report: {:?}", report.status().next_run);
    coordinator.close().await
}
