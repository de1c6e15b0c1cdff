//! `tenure status`: who owns what.

pub(super) mod kinds;

use std::process::ExitCode;
use std::time::Duration;

use tenure::model::MutexName;
use tenure_dashboard::status::{Row, gather};

use super::columns::{self, Column, Texts};
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
        return super::top::top("status --watch", &names, settings, voice).await;
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
            output::data(&table(&rows, output::room(voice)));
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

fn table(rows: &[Row], room: Option<usize>) -> String {
    let told = |millis: Option<u64>| {
        millis.map_or_else(|| "-".into(), |millis| brief(Duration::from_millis(millis)))
    };
    let texts = |row: &Row| Texts {
        name: plain(&row.name),
        kind: row.kind.unwrap_or("-"),
        owner: match (&row.owner, &row.fault) {
            (Some(owner), _) => plain(owner),
            (None, Some(_)) => "?".into(),
            (None, None) => "-".into(),
        },
        token: row
            .token
            .map_or_else(|| "-".into(), |token| token.to_string()),
        held: told(row.held_ms),
        left: told(row.left_ms),
        waiters: match row.waiters.as_slice() {
            [] => "-".into(),
            waiters => plain(&waiters.join(", ")),
        },
        waiter_count: row.waiters.len(),
        ..Texts::default()
    };
    let rows: Vec<Texts> = rows.iter().map(texts).collect();
    let columns = columns::fit(&rows, columns::WRITTEN, room);
    let line = |cell: &dyn Fn(Column, usize) -> String| {
        let padded = columns.iter().map(|(column, width)| {
            let cell = cell(*column, *width);
            format!("{cell:<width$}")
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&|column, _| column.title().to_owned())];
    lines.extend(
        rows.iter()
            .map(|row| line(&|column, width| row.cell(column, width))),
    );
    lines.join("\n")
}
