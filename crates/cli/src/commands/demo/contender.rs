//! One of the demo's processes: stands, leads, runs the schedule, writes,
//! steps down. It says on stdout what it does.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::schedule::{Misfire, ScheduleConfig, Tick};
use tenure::{Coordinator, Tenure};

use super::{OFFICE, PERIOD};
use crate::exit;
use crate::moment;
use crate::signals::Signals;

pub(crate) const CONTENDER: &str = "__contender";

/// How often a leader writes.
const PULSE: Duration = Duration::from_millis(100);

/// What a contender says, a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Said {
    Act(Act),
    Deposed,
    Trouble(String),
    /// Its line has ended: it is dead, and all it sent has been read.
    Gone,
}

/// What it did as leader, with its token. Times are those of [`moment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Act {
    pub(super) token: u64,
    pub(super) at: u64,
    /// When its lease would end, as it was then.
    pub(super) until: u64,
    pub(super) did: Did,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Did {
    /// Its write of this number.
    Write(u64),
    /// A run of the schedule.
    Tick { number: u64, late: Duration },
}

/// Takes a URL, and the name under which people find the process.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    // The demo that started it may be killed, and the contender must not go on without it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let [url, _] = words.as_slice() else {
        return ExitCode::from(exit::USAGE);
    };
    let runtime = crate::files::runtime();
    match runtime.map(|runtime| runtime.block_on(Box::pin(stand(url)))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            let _ = say(&Said::Trouble(error.to_string()));
            ExitCode::from(exit::UNAVAILABLE)
        }
        Err(_) => ExitCode::from(exit::SYSTEM),
    }
}

async fn stand(url: &str) -> tenure::Result<()> {
    let coordinator = Coordinator::connect(url).await?;
    let mut signals = Signals::listen().expect("signals can be listened to");
    let config = ScheduleConfig::rate(Duration::ZERO, PERIOD)?.with_misfire(Misfire::Burst);
    let scheduler = coordinator.scheduler(OFFICE, config)?;
    let leading: RefCell<Option<Tenure>> = RefCell::default();
    let is_heard = Cell::new(true);
    let job = |tick: Tick| {
        let (number, late) = (tick.number(), tick.late_by());
        if let Some(act) = act(tick.tenure(), Did::Tick { number, late }) {
            leading.replace(Some(tick.tenure().clone()));
            is_heard.set(say(&act));
        }
        std::future::ready(())
    };
    let mut run = pin!(scheduler.run(job));
    let mut pulse = tokio::time::interval(PULSE);
    let mut writes = 0;
    while is_heard.get() {
        tokio::select! {
            ended = &mut run => return ended,
            _ = pulse.tick() => if let Some(tenure) = leading.take() {
                // Asked before every effect: the clock decides, not the news.
                let write = act(&tenure, Did::Write(writes + 1));
                if write.is_some() {
                    writes += 1;
                    leading.replace(Some(tenure));
                }
                is_heard.set(say(&write.unwrap_or(Said::Deposed)));
            },
            _ = signals.end() => break,
        }
    }
    let (ended, _) = tokio::join!(run, scheduler.stop());
    ended?;
    coordinator.close().await
}

/// What is done under `tenure` now; `None` when it leads no more.
fn act(tenure: &Tenure, did: Did) -> Option<Said> {
    let (at, until) = (moment::now(), moment::end_of(tenure));
    // Asked after the clock was read: so at that time it did lead.
    let token = tenure.token().ok()?.value();
    Some(Said::Act(Act {
        token,
        at,
        until,
        did,
    }))
}

/// False when the demo listens no more.
fn say(said: &Said) -> bool {
    let line = serde_json::to_string(said).expect("our own values are JSON");
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").is_ok() && stdout.flush().is_ok()
}
