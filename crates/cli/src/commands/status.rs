//! `tenure status`: who owns what.

#[cfg(feature = "views")]
mod live;

use std::process::ExitCode;
use std::time::Duration;

use tenure::model::MutexName;
use tenure_dashboard::status::{Row, gather};

use crate::args::Status;
use crate::config::Settings;
use crate::exit::Failure;
use crate::output::{self, Format, Voice, brief};
use crate::store;

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
    #[cfg(feature = "views")]
    if status.watch {
        return live::watch(&names, settings, voice).await;
    }
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
