//! `tenure status`: who owns what.

mod kinds;
#[cfg(feature = "views")]
mod live;

use std::process::ExitCode;
use std::time::Duration;

use tenure::model::MutexName;
use tenure_dashboard::status::{Row, gather};

use crate::args::Status;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, brief, plain};
use crate::store;

pub(crate) async fn status(
    status: Status,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    // Also those that only others can contend for.
    let names: Vec<MutexName> = status.names.iter().map(MutexName::found).collect();
    #[cfg(feature = "views")]
    if status.watch {
        return live::watch(&names, settings, voice).await;
    }
    let coordinator = store::open(settings, voice).await?;
    let mut rows = gather(&coordinator, &names).await?;
    kinds::tell(&mut rows, &coordinator, &names, voice).await;
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
            for line in kinds::lines(&rows) {
                output::data(&line);
            }
        }
    }
    let _ = coordinator.close().await;
    let damaged: Vec<&Row> = rows.iter().filter(|row| row.fault.is_some()).collect();
    for row in &damaged {
        let fault = row.fault.as_deref().unwrap_or_default();
        voice.warn(&format_args!(
            "{} is damaged: {}",
            plain(&row.name),
            plain(fault)
        ));
    }
    if damaged.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(exit::DAMAGED))
}

fn table(rows: &[Row]) -> String {
    let told = |millis: Option<u64>| {
        millis.map_or_else(|| "-".into(), |millis| brief(Duration::from_millis(millis)))
    };
    let mut cells =
        vec![["NAME", "OWNER", "TOKEN", "HELD FOR", "TIME LEFT", "WAITERS"].map(String::from)];
    cells.extend(rows.iter().map(|row| {
        [
            plain(&row.name),
            match (&row.owner, &row.fault) {
                (Some(owner), _) => plain(owner),
                (None, Some(_)) => "?".into(),
                (None, None) => "-".into(),
            },
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
