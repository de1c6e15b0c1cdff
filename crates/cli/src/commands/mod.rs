//! One file for each command.

mod columns;
#[cfg(feature = "http")]
mod dashboard;
pub(crate) mod demo;
mod doctor;
mod hold;
mod init;
mod lead;
pub(crate) mod lock;
mod once;
mod pages;
mod prune;
mod release;
mod revoke;
mod run;
mod schedule;
mod schedules;
mod status;
#[cfg(feature = "views")]
mod top;
mod waiting;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use tenure::Coordinator;

use crate::args::check::check;
use crate::args::{Cli, Command};
use crate::config::{Settings, Sources};
use crate::exit::Failure;
use crate::output::{Format, Voice};

pub(crate) use schedule::config as schedule_config;

/// Does what was asked, and tells of it when that went wrong.
pub(crate) fn dispatch(cli: Cli, voice: &Voice) -> ExitCode {
    let is_hold = matches!(cli.command, Command::Hold(_));
    // The file of --config may say otherwise, once it has been read.
    let mut output = cli.common.output.unwrap_or_default();
    match act(cli, &mut output, voice) {
        Ok(code) => {
            crate::exit::die();
            code
        }
        Err(failure) => {
            voice.error(&failure.message);
            if is_hold {
                crate::hold::words::refused(failure.code, output);
            }
            ExitCode::from(failure.code)
        }
    }
}

fn act(cli: Cli, output: &mut Format, voice: &Voice) -> Result<ExitCode, Failure> {
    let settings = match &cli.command {
        Command::Completions { shell } => return Ok(pages::completions(*shell)),
        Command::Man => return pages::man(),
        Command::Release(release) => return release::release(release.name.as_deref(), voice),
        Command::Schedule(schedule) if schedule.preview.is_some() => {
            // It asks no store, so none has to be named.
            return schedule::previewed(schedule, Sources::read(cli.common.clone())?.output());
        }
        Command::Demo => None,
        _ => {
            let sources = Sources::read(cli.common.clone())?;
            *output = sources.output();
            Some(Settings::gather(sources, voice)?)
        }
    };
    if let Some(settings) = &settings {
        check(&cli.command, settings)?;
    }
    let runtime = crate::files::runtime()?;
    let Some(settings) = settings else {
        return runtime.block_on(Box::pin(demo::demo()));
    };
    let work = async {
        let runs_commands = matches!(
            cli.command,
            Command::Run(_) | Command::Lead(_) | Command::Schedule(_)
        );
        if runs_commands {
            crate::reaper::begin()
                .map_err(|error| Failure::system("look after orphans", &error))?;
        }
        match cli.command {
            Command::Run(run) => Box::pin(run::run(run, &settings, voice)).await,
            Command::Hold(hold) => {
                let loudness = (cli.common.quiet, cli.common.verbose);
                hold::hold(hold, &settings, loudness, voice).await
            }
            Command::Lead(lead) => Box::pin(lead::lead(lead, &settings, voice)).await,
            Command::Schedule(schedule) => {
                Box::pin(schedule::schedule(schedule, &settings, voice)).await
            }
            Command::Schedules(schedules) => {
                schedules::schedules(schedules, &settings, voice).await
            }
            Command::Status(status) => status::status(status, &settings, voice).await,
            #[cfg(feature = "views")]
            Command::Top(top) => top::asked(&top, &settings, voice).await,
            Command::Watch(watch) => watch::watch(watch, &settings, voice).await,
            #[cfg(feature = "http")]
            Command::Dashboard(dashboard) => {
                dashboard::dashboard(dashboard, &settings, voice).await
            }
            Command::Revoke(revoke) => revoke::revoke(revoke, &settings, voice).await,
            Command::Prune(prune) => prune::prune(prune, &settings, voice).await,
            Command::Doctor => doctor::doctor(&settings, voice).await,
            Command::Init(init) => init::init(init, &settings, voice).await,
            Command::Demo | Command::Release(_) | Command::Completions { .. } | Command::Man => {
                unreachable!("done before")
            }
        }
    };
    let ended = runtime.block_on(work);
    // A thread that still waits for something must not keep the program.
    runtime.shutdown_background();
    ended
}

/// The grace that was asked for, or half of the transition.
pub(crate) fn grace(
    asked: Option<Duration>,
    coordinator: &Coordinator,
) -> Result<Duration, Failure> {
    grace_within(asked, coordinator.terms().transition())
}

/// The same, where the transition is known and nothing is open yet.
pub(crate) fn grace_within(
    asked: Option<Duration>,
    transition: Duration,
) -> Result<Duration, Failure> {
    match asked {
        Some(grace) if !grace.is_zero() && grace >= transition => Err(Failure::usage(format!(
            "--grace must be shorter than the transition, which is {transition:?}: give a \
             shorter one, or a longer --transition"
        ))),
        Some(grace) => Ok(grace),
        None => Ok(transition / 2),
    }
}
