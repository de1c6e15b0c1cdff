//! `tenure demo`: a leader dies, another is paused, a third resigns; nobody
//! leads twice, and what comes late is refused.
//!
//! Real processes on a temporary embedded store; this process is the audience,
//! the resource they write to, and the one with the knife.

mod contender;
mod stage;
mod troupe;

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;

pub(crate) use contender::{CONTENDER, main as contender};
use stage::Stage;
use troupe::Said;

use crate::exit::{self, Failure};
use crate::output::brief;
use crate::store::url_of;

/// What is led.
const OFFICE: &str = "demo";
/// Short enough to watch a lease run out, long enough for a busy machine.
const TERMS: &str = "ttl=2s&transition=1s";
/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(9);
/// The whole ends before this.
const CURTAIN: Duration = Duration::from_secs(28);

pub(crate) async fn demo() -> Result<ExitCode, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("tenure-demo-")
        .tempdir()
        .map_err(|error| Failure::system("make a temporary directory", &error))?;
    let url = format!("{}?{TERMS}", url_of(&folder.path().join("tenure.db"))?);
    let mut stage = Stage::new();
    stage.note(
        "demo",
        "three processes, one leader, one SQLite file, no server",
    );
    let play = async {
        stage.open(&url)?;
        play(&mut stage).await
    };
    let ended = tokio::time::timeout(CURTAIN, play).await;
    let why = match ended {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why),
        Err(_) => Some("it took too long".to_owned()),
    };
    if let Some(why) = &why {
        stage.note("demo", &format!("FAILED: {why}"));
    }
    let well = stage.close() && why.is_none();
    Ok(ExitCode::from(if well { 0 } else { exit::FAILED }))
}

/// The acts. An error is an expectation that did not hold.
async fn play(stage: &mut Stage) -> Result<(), String> {
    let first = stage.election(None, "elected").await?;
    stage.writes(first.who, 3).await?;

    // Its requests are still under way when it dies.
    stage.hold_back(first.who).await?;
    stage.signal(
        first.who,
        Signal::KILL,
        "killed with SIGKILL, a write still under way",
    );
    let second = stage.election(Some(&first), "takes over").await?;
    stage.writes(second.who, 2).await?;
    stage.let_through(first.who).await?;

    // A leader that is paused for longer than its lease does not know.
    stage.signal(
        second.who,
        Signal::STOP,
        "paused with SIGSTOP, longer than its lease",
    );
    let third = stage.election(Some(&second), "takes over").await?;
    stage.writes(third.who, 2).await?;
    stage.signal(second.who, Signal::CONT, "wakes up and believes to lead");
    let heard = stage
        .until(PATIENCE, |who, said| {
            who == second.who && matches!(said, Said::Deposed(_))
        })
        .await?;
    stage.expect(
        heard.is_some(),
        "the paused leader stepped down by its own clock",
    )?;

    // Who leaves in order is replaced at once.
    let since = std::time::Instant::now();
    stage.signal(third.who, Signal::TERM, "told to end with SIGTERM: resigns");
    let fourth = stage.election(Some(&third), "takes over").await?;
    let gap = since.elapsed();
    stage.writes(fourth.who, 1).await?;
    stage.expect(
        gap < Duration::from_millis(1500),
        &format!(
            "a resignation hands over without waiting for the lease: {}",
            brief(gap)
        ),
    )?;
    stage.dismiss().await
}
