//! One of the demo's processes: stands, leads, runs the schedule, writes,
//! steps down.

use std::cell::Cell;
use std::ffi::OsString;
use std::future::pending;
use std::io::Write;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::time::Duration;

use tenure::model::{ContenderId, ContenderIdGenerator};
use tenure::schedule::{Misfire, ScheduleConfig, Tick};
use tenure::{Coordinator, LeaseLost, Tenure};
use tokio::sync::mpsc;

use super::PERIOD;
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
            let _ = say(&format!("trouble {error}"));
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

type Renewal = Pin<Box<dyn Future<Output = Result<(), LeaseLost>>>>;

/// A term of office, and its next renewal.
struct HeldOffice {
    tenure: Tenure,
    renewal: Renewal,
}

async fn stand(url: &str, office: &str, name: &str) -> tenure::Result<()> {
    let ids = Named(name.to_owned());
    let coordinator = Coordinator::builder().ids(ids).connect(url).await?;
    let mut signals = Signals::listen().expect("signals can be listened to");
    let config = ScheduleConfig::rate(Duration::ZERO, PERIOD)?.with_misfire(Misfire::Burst);
    let scheduler = coordinator.scheduler(office, config)?;
    let (tell, mut terms) = mpsc::unbounded_channel();
    let is_heard = Cell::new(say("standing"));
    let led = Cell::new(None);
    let job = |tick: Tick| {
        is_heard.set(ran(&tick, &led, &tell));
        std::future::ready(())
    };
    let mut run = pin!(scheduler.run(job));
    let mut pulse = tokio::time::interval(PULSE);
    let mut term: Option<HeldOffice> = None;
    let mut number = 0;
    while is_heard.get() {
        tokio::select! {
            ended = &mut run => return ended,
            Some(tenure) = terms.recv() => {
                let renewal = Box::pin(tenure.renewed());
                term = Some(HeldOffice { tenure, renewal });
            }
            renewed = renewal(&mut term) => is_heard.set(after(renewed, &mut term)),
            _ = pulse.tick() => is_heard.set(write(&mut term, &mut number)),
            _ = signals.end() => break,
        }
    }
    let (ended, _) = tokio::join!(run, scheduler.stop());
    ended?;
    coordinator.close().await
}

/// One run of the schedule; the first of a term tells of the election.
fn ran(
    tick: &Tick,
    led: &Cell<Option<tenure::model::FencingToken>>,
    tell: &mpsc::UnboundedSender<Tenure>,
) -> bool {
    let (tenure, at) = (tick.tenure(), moment::now());
    // Asked after the clock was read: so at that time it did lead.
    let Ok(token) = tenure.token() else {
        return true;
    };
    if led.replace(Some(token)) != Some(token) {
        let _ = tell.send(tenure.clone());
        if !say(&format!("elected {token} {at} {}", moment::end_of(tenure))) {
            return false;
        }
    }
    let late = tick.late_by().as_millis();
    say(&format!("tick {token} {at} {} {late}", tick.number()))
}

async fn renewal(term: &mut Option<HeldOffice>) -> Result<(), LeaseLost> {
    match term {
        Some(term) => term.renewal.as_mut().await,
        None => pending().await,
    }
}

fn after(renewed: Result<(), LeaseLost>, term: &mut Option<HeldOffice>) -> bool {
    let Some(HeldOffice { tenure, renewal }) = term else {
        return true;
    };
    match renewed {
        Ok(()) => {
            *renewal = Box::pin(tenure.renewed());
            say(&format!("renewed {}", moment::end_of(tenure)))
        }
        Err(lost) => {
            *term = None;
            say(&format!("deposed {:?}", lost.cause))
        }
    }
}

fn write(term: &mut Option<HeldOffice>, number: &mut u64) -> bool {
    let Some(HeldOffice { tenure, .. }) = term else {
        return true;
    };
    let at = moment::now();
    // Asked before every effect: the clock decides, not the news.
    match tenure.token() {
        Ok(token) => {
            *number += 1;
            say(&format!("write {token} {at} {number}"))
        }
        Err(lost) => {
            *term = None;
            say(&format!("deposed {:?}", lost.cause))
        }
    }
}

/// False when nobody listens any more.
fn say(line: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .is_ok()
}
