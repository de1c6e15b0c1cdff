//! `tenure demo`: a leader dies, another is paused, a third resigns; nobody
//! leads twice, a schedule goes on, and what comes late is refused.
//!
//! Real processes on a temporary embedded store; this process is the audience,
//! the resource they write to, and the one with the knife.

mod audience;
mod contender;
mod history;
#[cfg(feature = "views")]
mod live;
// Lines tell less of it than a view.
#[cfg_attr(not(feature = "views"), allow(dead_code))]
mod scene;
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
use crate::signals::Signals;
use crate::store::url_of;

const TITLE: &str = "three processes, one leader, one SQLite file, no server";
/// What is led: the schedule of this name.
const OFFICE: &str = "demo";
/// How often the leader runs it.
const PERIOD: Duration = Duration::from_millis(250);
/// Short enough to watch a lease run out, long enough for a busy machine.
const TTL: Duration = Duration::from_secs(2);
const TRANSITION: Duration = Duration::from_secs(1);
/// How long ownership lasts without a renewal.
#[cfg(feature = "views")]
const LEASE: Duration = TTL.saturating_add(TRANSITION);
/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(9);
/// The whole ends before this.
const CURTAIN: Duration = Duration::from_secs(28);

pub(crate) async fn demo() -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let folder = tempfile::Builder::new()
        .prefix("tenure-demo-")
        .tempdir()
        .map_err(|error| Failure::system("make a temporary directory", &error))?;
    let place = url_of(&folder.path().join("tenure.db"))?;
    let (ttl, transition) = (TTL.as_millis(), TRANSITION.as_millis());
    let url = format!("{place}?ttl={ttl}ms&transition={transition}ms");
    let mut stage = Stage::new();
    stage.note("demo", TITLE);
    let is_watched = stage.is_watched();
    let play = async {
        stage.open(&url)?;
        play(&mut stage).await
    };
    // Dropped at a signal, the stage ends its players and clears the screen.
    let ended = tokio::select! {
        ended = tokio::time::timeout(CURTAIN, play) => ended,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
        () = quit(is_watched) => return Ok(exit::by_signal(Signal::INT.as_raw())),
    };
    let why = match ended {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why),
        Err(_) => Some("it took too long".to_owned()),
    };
    if let Some(why) = &why {
        stage.recount();
        stage.note("demo", &format!("FAILED: {why}"));
    }
    let well = stage.close() && why.is_none();
    Ok(ExitCode::from(if well { 0 } else { exit::FAILED }))
}

/// Returns when a person who watches has seen enough.
#[cfg_attr(not(feature = "views"), allow(unused_variables))]
async fn quit(is_watched: bool) {
    #[cfg(feature = "views")]
    if is_watched {
        return crate::view::asked_to_quit().await;
    }
    std::future::pending::<()>().await;
}

/// The acts. An error is an expectation that did not hold.
async fn play(stage: &mut Stage) -> Result<(), String> {
    // A person needs longer to see what a program only has to count.
    let scene = if stage.is_watched() { 20 } else { 3 };
    let first = stage.election(None, "elected").await?;
    stage.writes(first.who, scene * 3 / 2).await?;

    // Its requests are still under way when it dies.
    stage.hold_back(first.who).await?;
    stage.signal(
        first.who,
        Signal::KILL,
        "killed with SIGKILL, a write still under way",
    );
    let second = stage.election(Some(&first), "takes over").await?;
    stage.writes(second.who, scene).await?;
    stage.let_through(first.who).await?;
    stage.writes(second.who, scene / 2).await?;

    // A leader that is paused for longer than its lease does not know.
    stage.signal(
        second.who,
        Signal::STOP,
        "paused with SIGSTOP, longer than its lease",
    );
    let third = stage.election(Some(&second), "takes over").await?;
    stage.writes(third.who, scene).await?;
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
    stage.writes(third.who, scene / 2).await?;

    // Who leaves in order is replaced at once.
    let lease = stage.scene.left();
    let since = std::time::Instant::now();
    stage.signal(third.who, Signal::TERM, "told to end with SIGTERM: resigns");
    let fourth = stage.election(Some(&third), "takes over").await?;
    let gap = since.elapsed();
    stage.writes(fourth.who, scene).await?;
    stage.expect(
        gap < lease,
        &format!(
            "a resignation hands over without waiting for the lease: {}",
            brief(gap)
        ),
    )?;
    stage.dismiss().await
}
