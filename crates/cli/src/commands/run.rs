//! `tenure run`: take the lock, run the command, free it.

use std::process::ExitCode;
use std::time::Instant;

use tenure::{Coordinator, ErrorKind, LockGuard};

use super::{grace, lock, once};
use crate::args::Run;
use crate::complaints::Complaints;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::Voice;
use crate::place;
use crate::probes::Probes;
use crate::signals::Signals;
use crate::store;
use crate::supervise::{End, Task, supervise};

pub(crate) async fn run(run: Run, settings: &Settings, voice: &Voice) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let probes = Probes::serve(run.probed.address(), voice).await?;
    let coordinator = tokio::select! {
        opened = store::open(settings, voice) => opened?,
        signal = signals.end_or_hangup() => return Ok(exit::by_signal(signal.as_raw())),
    };
    probes.opened(&coordinator);
    // What no retry can help ends the waiting by itself.
    let mut complaints = Complaints::about(&coordinator, 1, voice);
    let locked = locked(&run, settings, &coordinator, &mut signals, voice);
    let code = complaints.telling(locked).await;
    store::close(&coordinator, &code).await;
    code
}

async fn locked(
    run: &Run,
    settings: &Settings,
    coordinator: &Coordinator,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let grace = grace(run.job.grace, coordinator)?;
    let acquired = tokio::select! {
        biased;
        acquired = lock::take(&run.name, (run.no_wait, run.wait), coordinator, voice) => acquired,
        signal = signals.end_or_hangup() => {
            voice.passing("");
            return Ok(exit::by_signal(signal.as_raw()));
        }
    };
    let Some(guard) = acquired? else {
        return Ok(ExitCode::from(exit::NOT_ACQUIRED));
    };
    let turn = match run.once_per {
        None => None,
        Some(period) => match once::turn(&guard, period, voice).await? {
            Some(turn) => Some(turn),
            None => {
                let _ = guard.release().await;
                return Ok(ExitCode::SUCCESS);
            }
        },
    };
    let begun = Instant::now();
    let task = Task {
        command: &run.job.command,
        environment: &place::handed_on(settings, run.job.pass_url),
        grace,
        limit: None,
    };
    let end = supervise(task, guard.tenure(), signals, voice).await?;
    if let Some(turn) = turn {
        once::record(turn, &end, voice).await;
    }
    if let Some(least) = run.at_least_for {
        let rest = least.saturating_sub(begun.elapsed());
        tokio::select! {
            _ = guard.protect(tokio::time::sleep(rest)) => {}
            _ = signals.end() => {}
        }
    }
    free(guard, end, voice).await
}

/// Frees the lock after the command's end, and says how it went.
async fn free(guard: LockGuard, end: End, voice: &Voice) -> Result<ExitCode, Failure> {
    let released = guard.release().await;
    if !end.left.is_empty() {
        // Who is left has been said.
        return Ok(ExitCode::from(exit::STILL_RUNNING));
    }
    if let Some(lost) = &end.lost {
        return Err(Failure::new(exit::LOST, lost.to_string()));
    }
    if end.was_stopped {
        return Err(Failure::new(exit::LOST, told_to_end(&end)));
    }
    if let Err(error) = released {
        if error.kind() == ErrorKind::Lost {
            return Err(error.into());
        }
        voice.warn(&format_args!(
            "the command has ended, but the lock may stay held for a while: {error}"
        ));
    }
    Ok(exit::as_command(&end))
}

/// Nothing was lost, but the command was told to end, and whether it had done
/// its work by then only the command knows.
fn told_to_end(end: &End) -> String {
    format!(
        "the command was told to end because ownership had not been renewed in time, and ended \
         with {}; ownership was renewed after that and never lost",
        exit::code_of(end.status)
    )
}
