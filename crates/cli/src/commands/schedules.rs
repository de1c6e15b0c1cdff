//! `tenure schedules`: every schedule of a store, and how it goes.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tenure::backend::Page;
use tenure::model::{FencingToken, MutexName, StoreTime};
use tenure::schedule::{RunResult, ScheduleReport};

use crate::args::Schedules;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, brief, plain};
use crate::store;

const PAGE: usize = 500;

/// One schedule, as JSON. Times are the store's.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    plan: Option<String>,
    leader: Option<String>,
    /// The number of the last run; of the first, while nothing has been run.
    run: Option<u64>,
    token: Option<FencingToken>,
    result: Option<RunResult>,
    due: Option<String>,
    begun: Option<String>,
    ended: Option<String>,
    took_ms: Option<u64>,
    late_ms: Option<u64>,
    next: Option<String>,
    /// By how much the next run is late already.
    overdue_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl Row {
    fn of(report: &ScheduleReport, now: StoreTime) -> Self {
        let ledger = report.ledger.as_ref();
        let overdue = report.next_due.filter(|due| *due < now);
        Self {
            name: report.name.to_string(),
            plan: report.plan(),
            leader: report.leader.as_ref().map(ToString::to_string),
            run: ledger.map(|ledger| ledger.last_tick),
            token: ledger.map(|ledger| ledger.token),
            result: report.result,
            due: ledger.and_then(|ledger| stamp(ledger.due_at)),
            begun: ledger.and_then(|ledger| stamp(ledger.begun_at?)),
            ended: ledger.and_then(|ledger| stamp(ledger.finished_at?)),
            took_ms: report.took().map(millis),
            late_ms: report.late_by().map(millis),
            next: report.next_due.and_then(stamp),
            overdue_ms: overdue.map(|due| millis(now.since(due))),
            fault: report.fault.as_deref().map(str::to_owned),
        }
    }
}

pub(crate) async fn schedules(
    schedules: Schedules,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let coordinator = store::open(settings, voice).await?;
    let names: Vec<MutexName> = schedules.names.iter().map(MutexName::found).collect();
    let mut page = match names.as_slice() {
        [] => Page::first(PAGE),
        _ => Page::of(names.clone()),
    };
    let mut reports = Vec::new();
    loop {
        let told = coordinator.schedules(&page).await?;
        let rows = told.reports.iter().cloned();
        reports.extend(rows.map(|report| (report, told.now)));
        let Some(next) = told.next_page(&page) else {
            break;
        };
        page = next;
    }
    let _ = coordinator.close().await;
    match settings.output {
        Format::Json => {
            for (report, now) in &reports {
                if !output::json(&Row::of(report, *now)) {
                    break;
                }
            }
        }
        Format::Human if reports.is_empty() => {}
        Format::Human => {
            output::data(&table(&reports, output::room(voice)));
        }
    }
    Ok(verdict(&reports, &names, voice))
}

/// What a person should know beside the data.
fn verdict(
    reports: &[(ScheduleReport, StoreTime)],
    names: &[MutexName],
    voice: &Voice,
) -> ExitCode {
    if reports.is_empty() && names.is_empty() {
        voice.warn(&"nothing has been scheduled in this store");
    }
    let mut code = ExitCode::SUCCESS;
    for name in names {
        if !reports.iter().any(|(report, _)| report.name == *name) {
            let name = plain(name.as_str());
            voice.warn(&format_args!(
                "{name} has never been scheduled in this store"
            ));
            code = ExitCode::from(exit::FAILED);
        }
    }
    for (report, _) in reports {
        if let Some(fault) = &report.fault {
            let name = plain(report.name.as_str());
            voice.warn(&format_args!("{name} is damaged: {}", plain(fault)));
            code = ExitCode::from(exit::DAMAGED);
        }
    }
    code
}

fn table(reports: &[(ScheduleReport, StoreTime)], room: Option<usize>) -> String {
    let header = [
        "NAME", "RUN", "RESULT", "BEGUN", "TOOK", "LATE", "NEXT", "PLAN",
    ];
    let mut cells = vec![header.map(String::from)];
    cells.extend(reports.iter().map(|(report, now)| line(report, *now)));
    let mut widths = [0; 8];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let told = cells.iter().map(|row| {
        let padded = row.iter().zip(widths);
        let padded: Vec<String> = padded
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        fitting(padded.join("  ").trim_end(), room)
    });
    told.collect::<Vec<_>>().join("\n")
}

/// The line, cut where it would wrap: the plan is last, and whole in JSON.
fn fitting(line: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if line.chars().count() > room => {
            let mut cut: String = line.chars().take(room.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
        _ => line.to_owned(),
    }
}

fn line(report: &ScheduleReport, now: StoreTime) -> [String; 8] {
    let none = || "-".to_owned();
    let length = |length: Option<Duration>| length.map_or_else(none, short);
    let ledger = report.ledger.as_ref();
    let has_run = report.result != Some(RunResult::Planned);
    let begun = ledger.and_then(|ledger| ledger.begun_at);
    [
        plain(report.name.as_str()),
        ledger
            .filter(|_| has_run)
            .map_or_else(none, |ledger| ledger.last_tick.to_string()),
        report.result.map_or("damaged", RunResult::word).to_owned(),
        begun.map_or_else(none, |at| format!("{} ago", short(now.since(at)))),
        length(report.took()),
        length(report.late_by()),
        report.next_due.map_or_else(none, |due| match due < now {
            true => format!("{} overdue", short(now.since(due))),
            false => format!("in {}", short(due.since(now))),
        }),
        report.plan().map_or_else(none, |plan| plain(&plan)),
    ]
}

/// A length of time in one unit: eight columns have to fit a terminal.
fn short(length: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let seconds = length.as_secs();
    match UNITS.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => brief(length),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// `None` of a time that has no date.
fn stamp(time: StoreTime) -> Option<String> {
    const LATEST: u64 = 253_402_300_799_999;
    let millis = Some(time.as_millis()).filter(|millis| *millis <= LATEST)?;
    Some(output::stamp(
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis),
    ))
}
