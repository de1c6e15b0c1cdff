//! `tenure demo`: a leader dies, another is paused, a third resigns; no two
//! lead at once, a schedule goes on, and what comes late is refused.
//!
//! Real processes on a temporary embedded store; this process shows what they
//! say, is the resource they write to, and kills them.

mod contender;
#[cfg(feature = "views")]
mod live;
/// Without views there is no screen.
#[cfg(not(feature = "views"))]
mod live {
    #[derive(Debug)]
    pub(super) enum Live {}

    impl Live {
        pub(super) fn begin() -> Option<Self> {
            None
        }

        pub(super) fn show(&mut self, _: &super::record::Record) {
            match *self {}
        }
    }
}
mod processes;
// Lines tell less of it than a view.
#[cfg_attr(not(feature = "views"), allow(dead_code))]
mod record;
mod story;

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;

pub(crate) use contender::{CONTENDER, main as contender};
use processes::Processes;
use story::Story;

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
const LONGEST: Duration = Duration::from_secs(28);

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
    let processes = Processes::start(&url);
    let processes = processes.map_err(|error| Failure::system("start processes", &error))?;
    let mut story = Story::open(TITLE, processes);
    let is_watched = story.is_watched();
    // Dropped at a signal, the story ends its processes and clears the screen.
    let ended = tokio::select! {
        ended = tokio::time::timeout(LONGEST, tell(&mut story)) => ended,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
        () = quit(is_watched) => return Ok(exit::by_signal(Signal::INT.as_raw())),
    };
    let why = match ended {
        Ok(told) => told.err(),
        Err(_) => Some("it took too long".to_owned()),
    };
    story.close(why.as_deref());
    Ok(ExitCode::from(if why.is_none() { 0 } else { exit::FAILED }))
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
async fn tell(story: &mut Story) -> Result<(), String> {
    // A person needs longer to see what a program only has to count.
    let picture = if story.is_watched() { 20 } else { 3 };
    let first = story.election(None, "elected").await?;
    story.writes(first, picture * 3 / 2).await?;

    // Its requests are still under way when it dies.
    story.hold_back(first).await?;
    let what = "killed with SIGKILL, a write still under way";
    story.signal(first, Signal::KILL, what);
    let second = story.election(Some(first), "takes over").await?;
    story.writes(second, picture).await?;
    story.let_through(first).await?;
    story.writes(second, picture / 2).await?;

    // A leader that is paused for longer than its lease does not know.
    let what = "paused with SIGSTOP, longer than its lease";
    story.signal(second, Signal::STOP, what);
    let third = story.election(Some(second), "takes over").await?;
    story.writes(third, picture).await?;
    story.signal(second, Signal::CONT, "wakes up and believes to lead");
    let what = "the paused leader stepped down by its own clock";
    let steps_down = |story: &Story| story.deposed == Some(second);
    story.until(steps_down, what).await?;
    story.expect(true, what)?;
    story.writes(third, picture / 2).await?;

    // Who leaves in order is replaced at once.
    let lease = story.record.left();
    let since = std::time::Instant::now();
    story.signal(third, Signal::TERM, "told to end with SIGTERM: resigns");
    let fourth = story.election(Some(third), "takes over").await?;
    let gap = since.elapsed();
    story.writes(fourth, picture).await?;
    let what = "a resignation hands over without waiting for the lease";
    story.expect(gap < lease, format!("{what}: {}", brief(gap)))?;
    story.dismiss().await
}
