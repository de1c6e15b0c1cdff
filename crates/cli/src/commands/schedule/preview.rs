//! `tenure schedule --preview`: when the next runs would be.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use tenure::schedule::{ClockChange, ScheduleConfig, Strategy};

use crate::output::{self, Format, brief};

/// The last millisecond of the year 9999: later ones have no date.
const LATEST: u64 = 253_402_300_799_999;

/// One run, as JSON.
#[derive(Debug, Serialize)]
struct Run {
    run: usize,
    due: String,
    local: Option<String>,
    change: Option<&'static str>,
}

pub(super) fn preview(config: &ScheduleConfig, count: u16, format: Format) {
    // Whole milliseconds, as the runs are.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = now.unwrap_or_default().as_millis();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    let runs = config.upcoming(now).take(usize::from(count));
    let runs = runs.take_while(|run| run.due_at.as_millis() <= LATEST);
    for (number, run) in runs.enumerate() {
        let due = SystemTime::UNIX_EPOCH + Duration::from_millis(run.due_at.as_millis());
        let goes_on = match format {
            Format::Json => output::json(&Run {
                run: number + 1,
                due: output::stamp(due),
                local: run.local.map(String::from),
                change: run.change.map(word),
            }),
            Format::Human => {
                let until = brief(due.duration_since(now).unwrap_or_default());
                let at = match run.local {
                    Some(local) => local.into(),
                    None => output::stamp(due),
                };
                let mut line = format!("{at}  in {until}");
                if let Some(change) = run.change {
                    line += &format!("  ({change})");
                }
                if number > 0 && config.strategy() == Strategy::FixedDelay {
                    line += ", and as much later as the runs before it take";
                }
                output::data(&line)
            }
        };
        if !goes_on {
            break;
        }
    }
}

fn word(change: ClockChange) -> &'static str {
    match change {
        ClockChange::StandsIn => "stands-in",
        ClockChange::LeftOut => "left-out",
        ClockChange::FirstOnly => "first-only",
        ClockChange::First => "first",
        ClockChange::Second => "second",
        _ => "other",
    }
}
