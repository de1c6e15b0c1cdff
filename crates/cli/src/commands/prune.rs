//! `tenure prune`: remove what no process has used for long.

use std::process::ExitCode;

use serde::Serialize;
use tenure::backend;

use crate::args::Prune;
use crate::config::Settings;
use crate::exit::Failure;
use crate::output::{self, Format, Voice};
use crate::store;

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done {
    mutexes: u64,
    schedules: u64,
}

pub(crate) async fn prune(
    prune: Prune,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let coordinator = store::open(settings, voice).await?;
    let mut wanted = backend::Prune::unused_for(prune.unused_for);
    if prune.schedules {
        wanted = wanted.with_schedules();
    }
    let pruned = coordinator.prune(&wanted).await?;
    let _ = coordinator.close().await;
    if settings.output == Format::Json {
        output::json(&Done {
            mutexes: pruned.mutexes,
            schedules: pruned.schedules,
        });
    } else {
        let mutexes = counted(pruned.mutexes, "mutex", "mutexes");
        let schedules = counted(pruned.schedules, "schedule", "schedules");
        voice.warn(&format_args!("removed {mutexes} and {schedules}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
