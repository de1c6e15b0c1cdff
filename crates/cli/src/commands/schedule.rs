//! `tenure schedule`: run a command on a schedule, in one place at a time.

mod news;
mod preview;

use std::cell::Cell;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use tenure::Coordinator;
use tenure::schedule::{JobError, Misfire, ScheduleConfig, Tick, Unfinished};
use tokio::sync::Notify;

use super::{grace, lock};
use crate::args::{self, Schedule};
use crate::complaints::Complaints;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, brief};
use crate::place;
use crate::probes::Probes;
use crate::signals::Signals;
use crate::store;
use crate::supervise::{End, Task, Variable, supervise};

pub(crate) async fn schedule(
    schedule: Schedule,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let config = config(&schedule)?;
    let mut signals = listen()?;
    let probes = Probes::serve(schedule.probed.address(), voice).await?;
    let coordinator = tokio::select! {
        opened = store::wait_for(settings, schedule.fail_fast, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    probes.opened(&coordinator);
    let handed = place::handed_on(settings, schedule.pass_url);
    let code = scheduled(
        &schedule,
        config,
        &handed,
        &coordinator,
        &mut signals,
        voice,
    )
    .await;
    store::close(&coordinator, &code).await;
    code
}

/// What `--preview` asks for.
pub(crate) fn previewed(schedule: &Schedule, format: Format) -> Result<ExitCode, Failure> {
    let count = schedule.preview.unwrap_or_default();
    preview::preview(&config(schedule)?, count, format);
    Ok(ExitCode::SUCCESS)
}

fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::system("listen to signals", &error))
}

pub(crate) fn config(schedule: &Schedule) -> tenure::Result<ScheduleConfig> {
    let initial = schedule.initial_delay.unwrap_or(Duration::ZERO);
    let config = match (schedule.every, schedule.delay, &schedule.cron) {
        (Some(every), ..) => ScheduleConfig::rate(initial, every)?,
        (_, Some(delay), _) => ScheduleConfig::delay(initial, delay)?,
        (.., cron) => {
            let tz = schedule.tz.as_deref().unwrap_or("UTC");
            ScheduleConfig::cron(cron.as_deref().unwrap_or_default(), tz)?
        }
    };
    let mut config = config.with_misfire(match schedule.misfire {
        args::Misfire::Skip => Misfire::Skip,
        args::Misfire::Once => Misfire::Once,
        args::Misfire::Burst => Misfire::Burst,
    });
    if let Some(limit) = schedule.late_limit {
        config = config.with_late_limit(limit)?;
    }
    if schedule.rerun_unfinished {
        config = config.with_rerun_of_unfinished();
    }
    if schedule.replace {
        config = config.with_plan_replaced();
    }
    Ok(config)
}

async fn scheduled(
    schedule: &Schedule,
    config: ScheduleConfig,
    handed: &[Variable],
    coordinator: &Coordinator,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let grace = grace(schedule.grace, coordinator)?;
    let name = schedule.name.as_deref().unwrap_or_default();
    let scheduler = coordinator.scheduler(name, config)?;
    lock::refuse_waiting_for_ourselves(coordinator, scheduler.name()).await?;
    let (ending, is_busy) = (&Ending::default(), &Cell::new(false));
    let mut complaints = Complaints::about(coordinator, 1, voice);
    let job = |tick: Tick| async move {
        if ending.is_near.get() {
            return Err(JobError::from(Unfinished::new("told to end")));
        }
        is_busy.set(true);
        let run = once(schedule, handed, grace, &tick, ending, voice).await;
        is_busy.set(false);
        run.inspect_err(|error| voice.warn(&format_args!("run {}: {error}", tick.number())))
    };
    let mut run = pin!(scheduler.run(job));
    tokio::select! {
        // What runs has its time to end, however hopeless the rest.
        failure = complaints.hopeless(|| !is_busy.get()) => {
            ending.is_near.set(true);
            let stopping = async { tokio::join!(run, scheduler.stop()) };
            // It may take a lease until it is given up that it is refused.
            let _ = tokio::time::timeout(store::LAST_WORD, stopping).await;
            Err(failure)
        }
        ended = &mut run => {
            ended.map_err(failure)?;
            Err(Failure::new(exit::SYSTEM, "the schedule has ended"))
        }
        () = news::tell(&scheduler, coordinator, voice) => unreachable!("it has no end"),
        () = ending.told.notified() => {
            let stopping = async { tokio::join!(run, scheduler.stop()) };
            let _ = tokio::time::timeout(store::LAST_WORD, complaints.telling(stopping)).await;
            // Who is left has been said.
            Ok(ExitCode::from(exit::STILL_RUNNING))
        }
        signal = signals.end() => {
            // The run under way has been told as well, and has its time to end.
            let stopping = async { tokio::join!(run, scheduler.stop()) };
            let (ended, _) = complaints.telling(stopping).await;
            ended.map_err(failure)?;
            if ending.is_somebody_left.get() {
                return Ok(ExitCode::from(exit::STILL_RUNNING));
            }
            Ok(exit::by_signal(signal.as_raw()))
        }
    }
}

/// What ended the schedule, in the words of the program.
fn failure(error: tenure::Error) -> Failure {
    let Some(other) = exit::other_plan(&error) else {
        return error.into();
    };
    let name = error.mutex().map(ToString::to_string).unwrap_or_default();
    let message = format!(
        "{name}: {other}. Give it a name of its own, the same words on every host, or --replace \
         to change it for all"
    );
    Failure {
        message,
        ..error.into()
    }
}

/// Whether no further run may begin. The scheduler hears of a signal after the
/// command does: what it begins in between is not to run. Nor is anything
/// beside what is left of a run.
#[derive(Debug, Default)]
struct Ending {
    is_near: Cell<bool>,
    is_somebody_left: Cell<bool>,
    /// That a process is left.
    told: Notify,
}

/// One run, from the start of the command to its end.
async fn once(
    schedule: &Schedule,
    handed: &[Variable],
    grace: Duration,
    tick: &Tick,
    ending: &Ending,
    voice: &Voice,
) -> Result<(), JobError> {
    let mut environment = handed.to_vec();
    environment.push(("TENURE_RUN", Some(tick.number().to_string())));
    environment.push(("TENURE_DUE", Some(output::stamp(tick.due_time()))));
    let task = Task {
        command: &schedule.command,
        environment: &environment,
        grace,
        limit: schedule.timeout,
    };
    voice.detail(&format_args!(
        "run {}, {} after it was due",
        tick.number(),
        brief(tick.late_by())
    ));
    let mut signals = listen().map_err(|failure| failure.message)?;
    let end = supervise(task, tick.tenure(), &mut signals, voice).await;
    let end = end.map_err(|failure| match failure.code {
        exit::LOST => Unfinished::new(failure.message).into(),
        _ => JobError::from(failure.message),
    })?;
    if end.asked.is_some() {
        ending.is_near.set(true);
    }
    if !end.left.is_empty() {
        ending.is_near.set(true);
        ending.is_somebody_left.set(true);
        ending.told.notify_one();
    }
    // Whatever a command says that was told to end before its time, it may
    // not have come to its end.
    if let Some(why) = cut(&end) {
        return Err(Unfinished::new(why).into());
    }
    if !end.left.is_empty() {
        return Err("part of the command could not be ended".into());
    }
    if end.was_too_long {
        let limit = brief(schedule.timeout.unwrap_or_default());
        return Err(format!("ended after {limit}").into());
    }
    match exit::code_of(end.status) {
        0 => Ok(()),
        code => Err(format!("the command ended with {code}").into()),
    }
}

/// Why the command was told to end, if it was for another reason than its
/// time limit.
fn cut(end: &End) -> Option<String> {
    if let Some(lost) = &end.lost {
        return Some(lost.to_string());
    }
    if end.was_stopped {
        return Some("stopped because ownership could not be renewed in time".into());
    }
    end.asked.map(|_| "told to end".into())
}
