//! `tenure schedule`: run a command on a schedule, in one place at a time.

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use tenure::Coordinator;
use tenure::schedule::{Misfire, ScheduleConfig, Tick};

use super::grace;
use crate::args::{self, Schedule};
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Voice, brief};
use crate::signals::Signals;
use crate::store;
use crate::supervise::{Task, supervise};

pub(crate) async fn schedule(
    schedule: Schedule,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals = listen()?;
    let config = config(&schedule)?;
    let coordinator = tokio::select! {
        opened = store::wait_for(settings, schedule.fail_fast, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    let code = scheduled(&schedule, config, &coordinator, &mut signals, voice).await;
    let _ = coordinator.close().await;
    code
}

fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::system("listen to signals", &error))
}

fn config(schedule: &Schedule) -> tenure::Result<ScheduleConfig> {
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
    if schedule.rerun_unfinished {
        config = config.rerunning_unfinished();
    }
    if schedule.replace {
        config = config.replacing_plan();
    }
    Ok(config)
}

async fn scheduled(
    schedule: &Schedule,
    config: ScheduleConfig,
    coordinator: &Coordinator,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let grace = grace(schedule.job.grace, coordinator)?;
    let scheduler = coordinator.scheduler(&schedule.name, config)?;
    let job = |tick: Tick| async move {
        let done = once(schedule, grace, &tick, voice).await;
        done.map_err(|failure| {
            voice.warn(&format_args!("run {}: {}", tick.number(), failure.message));
            failure.message
        })
    };
    let mut run = pin!(scheduler.run(job));
    tokio::select! {
        ended = &mut run => {
            ended?;
            Err(Failure::new(exit::SYSTEM, "the schedule has ended"))
        }
        signal = signals.end() => {
            // The run under way has been told as well, and ends as it likes.
            let (ended, _) = tokio::join!(run, scheduler.stop());
            ended?;
            Ok(exit::by_signal(signal.as_raw()))
        }
    }
}

/// One run, from the start of the command to its end.
async fn once(
    schedule: &Schedule,
    grace: Duration,
    tick: &Tick,
    voice: &Voice,
) -> Result<(), Failure> {
    let environment = [
        ("TENURE_RUN", tick.number().to_string()),
        ("TENURE_DUE", output::stamp(tick.due_time())),
    ];
    let task = Task {
        command: &schedule.job.command,
        environment: &environment,
        grace,
        limit: schedule.timeout,
    };
    voice.detail(&format_args!(
        "run {}, {} after it was due",
        tick.number(),
        brief(tick.late_by())
    ));
    let end = supervise(task, tick.tenure(), &mut listen()?, voice).await?;
    if let Some(lost) = end.lost {
        return Err(tenure::Error::from(lost).into());
    }
    if end.was_too_long {
        let limit = brief(schedule.timeout.unwrap_or_default());
        return Err(Failure::new(exit::FAILED, format!("ended after {limit}")));
    }
    match exit::code_of(end.status) {
        0 => Ok(()),
        code => Err(Failure::new(code, format!("the command ended with {code}"))),
    }
}
