//! One of the demo's processes: stands, leads, runs the schedule, writes,
//! steps down.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use tenure::model::{ContenderId, ContenderIdGenerator, FencingToken};
use tenure::schedule::{Misfire, ScheduleConfig, Tick};
use tenure::{Coordinator, Tenure};

use super::PERIOD;
use super::processes::Said;
use crate::exit;
use crate::moment;
use crate::signals::Signals;

pub(crate) const CONTENDER: &str = "__contender";

/// How often a leader writes.
const PULSE: Duration = Duration::from_millis(100);

/// Takes a URL, an office and a name; says on stdout what happens to it, and
/// sends its writes there too.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    // The demo that started it may be killed, and the contender must not go on without it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let [url, office, name] = words.as_slice() else {
        return ExitCode::from(exit::USAGE);
    };
    let runtime = crate::files::runtime();
    let stood = runtime.map(|runtime| runtime.block_on(Box::pin(stand(url, office, name))));
    match stood {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            let _ = say(&Said::Trouble(error.to_string()));
            ExitCode::from(exit::UNAVAILABLE)
        }
        Err(_) => ExitCode::from(exit::SYSTEM),
    }
}

#[derive(Debug)]
struct Named(String);

impl ContenderIdGenerator for Named {
    fn generate(&self) -> tenure::Result<ContenderId> {
        ContenderId::new(format!("{}/{}", self.0, std::process::id()))
    }
}

async fn stand(url: &str, office: &str, name: &str) -> tenure::Result<()> {
    let ids = Named(name.to_owned());
    let coordinator = Coordinator::builder().ids(ids).connect(url).await?;
    let mut signals = Signals::listen().expect("signals can be listened to");
    let config = ScheduleConfig::rate(Duration::ZERO, PERIOD)?.with_misfire(Misfire::Burst);
    let scheduler = coordinator.scheduler(office, config)?;
    let contender = RefCell::new(Contender::default());
    let is_heard = Cell::new(true);
    let job = |tick: Tick| {
        is_heard.set(contender.borrow_mut().run(&tick));
        std::future::ready(())
    };
    let mut run = pin!(scheduler.run(job));
    let mut pulse = tokio::time::interval(PULSE);
    while is_heard.get() {
        tokio::select! {
            ended = &mut run => return ended,
            _ = pulse.tick() => is_heard.set(contender.borrow_mut().write()),
            _ = signals.end() => break,
        }
    }
    let (ended, _) = tokio::join!(run, scheduler.stop());
    ended?;
    coordinator.close().await
}

#[derive(Debug, Default)]
struct Contender {
    /// Its term of office, and the end of its lease as last told.
    leading: Option<(Tenure, u64)>,
    writes: u64,
}

impl Contender {
    /// One run of the schedule; the first of a term tells of the election.
    fn run(&mut self, tick: &Tick) -> bool {
        let (tenure, at) = (tick.tenure(), moment::now());
        // Asked after the clock was read: so at that time it did lead.
        let Ok(token) = tenure.token().map(FencingToken::value) else {
            return true;
        };
        let known = self
            .leading
            .as_ref()
            .and_then(|(tenure, _)| tenure.token().ok());
        if known.map(FencingToken::value) != Some(token) {
            let until = moment::end_of(tenure);
            self.leading = Some((tenure.clone(), until));
            if !say(&Said::Elected { token, at, until }) {
                return false;
            }
        }
        let (number, late) = (tick.number(), tick.late_by());
        say(&Said::Tick {
            token,
            at,
            number,
            late,
        })
    }

    fn write(&mut self) -> bool {
        let Some((tenure, told)) = &mut self.leading else {
            return true;
        };
        let at = moment::now();
        // Asked before every effect: the clock decides, not the news.
        let Ok(token) = tenure.token().map(FencingToken::value) else {
            self.leading = None;
            return say(&Said::Deposed);
        };
        // A renewal moves it by far more than two looks differ.
        let until = moment::end_of(tenure);
        if until > *told + moment::nanos(PULSE) {
            *told = until;
            if !say(&Said::Renewed { until }) {
                return false;
            }
        }
        self.writes += 1;
        let number = self.writes;
        say(&Said::Write { token, at, number })
    }
}

/// False when the demo listens no more.
fn say(said: &Said) -> bool {
    let line = serde_json::to_string(said).expect("our own values are JSON");
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .is_ok()
}
