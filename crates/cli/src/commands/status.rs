//! `tenure status`: who owns what.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tenure::Coordinator;
use tenure::backend::{Entry, Page};
use tenure::model::{FencingToken, MutexName, StoreTime};

use crate::args::Status;
use crate::config::Settings;
use crate::exit::Failure;
use crate::output::{self, Format, Voice, brief};
use crate::store;

const PAGE: usize = 500;

/// One mutex, as JSON. Times are lengths, because a store's clock need not be
/// this host's; `since` is a courtesy on the wall clock of this host.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    owner: Option<String>,
    /// The last grant's, also of a mutex that is free now.
    token: Option<FencingToken>,
    since: Option<String>,
    held_ms: Option<u64>,
    left_ms: Option<u64>,
    waiters: Vec<String>,
}

pub(crate) async fn status(
    status: Status,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let names: Vec<MutexName> = status
        .names
        .iter()
        .map(MutexName::new)
        .collect::<tenure::Result<_>>()?;
    let coordinator = store::open(settings, voice).await?;
    let rows = gather(&coordinator, &names).await?;
    match settings.output {
        Format::Json => {
            for row in &rows {
                if !output::json(row) {
                    break;
                }
            }
        }
        Format::Human if rows.is_empty() => voice.warn(&"nothing is owned in this store"),
        Format::Human => {
            output::data(&table(&rows));
        }
    }
    let _ = coordinator.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn gather(coordinator: &Coordinator, names: &[MutexName]) -> tenure::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut page = Page::first(PAGE);
    loop {
        let listing = coordinator.list(&page).await?;
        let wanted = |entry: &&Entry| names.is_empty() || names.contains(&entry.name);
        let entries = listing.entries.iter().filter(wanted);
        rows.extend(entries.map(|entry| row(entry, listing.now)));
        let Some(last) = listing.next else { break };
        page = Page::first(PAGE).after(last);
    }
    // One that was never owned is free, and was asked for.
    for name in names {
        if !rows.iter().any(|row| row.name == name.as_str()) {
            rows.push(Row::free(name));
        }
    }
    Ok(rows)
}

impl Row {
    fn free(name: &MutexName) -> Self {
        Self {
            name: name.to_string(),
            owner: None,
            token: None,
            since: None,
            held_ms: None,
            left_ms: None,
            waiters: Vec::new(),
        }
    }
}

fn row(entry: &Entry, now: StoreTime) -> Row {
    let mut row = Row::free(&entry.name);
    row.token = entry.token;
    row.waiters = entry.waiters.iter().map(ToString::to_string).collect();
    if entry.owner.has_owner(now) {
        let owner = &entry.owner;
        row.owner = owner.owner_id().map(ToString::to_string);
        let held = owner.acquired_at().map(|at| now.since(at));
        row.held_ms = held.map(millis);
        row.since = held.and_then(|held| Some(output::stamp(SystemTime::now().checked_sub(held)?)));
        row.left_ms = owner.remaining(now).map(millis);
    }
    row
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

fn table(rows: &[Row]) -> String {
    let told = |millis: Option<u64>| {
        millis.map_or_else(|| "-".into(), |millis| brief(Duration::from_millis(millis)))
    };
    let mut cells =
        vec![["NAME", "OWNER", "TOKEN", "HELD FOR", "TIME LEFT", "WAITERS"].map(String::from)];
    cells.extend(rows.iter().map(|row| {
        [
            row.name.clone(),
            row.owner.clone().unwrap_or_else(|| "-".into()),
            row.token
                .map_or_else(|| "-".into(), |token| token.to_string()),
            told(row.held_ms),
            told(row.left_ms),
            if row.waiters.is_empty() {
                "-".into()
            } else {
                row.waiters.join(", ")
            },
        ]
    }));
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            cells
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &[String; 6]| {
        let padded: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}
