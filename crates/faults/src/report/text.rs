//! A counterexample, line by line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tenure_testkit::history::{Event, What};

use crate::judge::Violation;

/// The events around a violation, in words, with times in seconds since the first of them. Of
/// other mutexes only what goes wrong is shown.
#[must_use]
pub fn timeline(events: &[Event], violation: &Violation, around: Duration) -> String {
    let (from, until) = violation.span;
    let (from, until) = (from.saturating_sub(around), until.saturating_add(around));
    let shown = events
        .iter()
        .filter(|event| from <= event.at && event.at <= until)
        .filter_map(|event| Some((event, words(event, &violation.name)?)));
    let mut text = format!("{violation}\n");
    let mut zero = None;
    let mut last: BTreeMap<&str, String> = BTreeMap::new();
    for (event, words) in shown {
        // An owner that does the same again and again says nothing new.
        if last.insert(&event.process, words.clone()).as_ref() == Some(&words) {
            continue;
        }
        let zero = *zero.get_or_insert(event.at);
        let at = (event.at - zero).as_secs_f64();
        let _ = writeln!(text, "  {at:>9.3} s  {:<10} {words}", event.process);
    }
    text
}

fn words(event: &Event, name: &str) -> Option<String> {
    let ahead = |deadline: Duration| {
        let left = deadline.saturating_sub(event.at);
        format!("{:.3} s ahead", left.as_secs_f64())
    };
    let is_other = |it: &str| !name.is_empty() && it != name;
    Some(match &event.what {
        What::Fault { what, is_over } => match is_over {
            true => format!("── {what}: mended"),
            false => format!("── {what}"),
        },
        What::Forgot { since } => {
            let before = event.at.saturating_sub(*since).as_secs_f64();
            format!("── the store has forgotten, within the last {before:.3} s")
        }
        What::Asked { name } if !is_other(name.as_str()) => format!("asks for {name}"),
        What::Granted { tenure, deadline } if !is_other(tenure.name.as_str()) => format!(
            "OWNS {} with {}, deadline {}",
            tenure.name,
            tenure.token,
            ahead(*deadline)
        ),
        What::Extended { tenure, deadline } if !is_other(tenure.name.as_str()) => format!(
            "owns {} on with {}, deadline {}",
            tenure.name,
            tenure.token,
            ahead(*deadline)
        ),
        What::Ended { tenure, cause } if !is_other(tenure.name.as_str()) => {
            format!("owns {} no more: {cause}", tenure.name)
        }
        What::Used {
            tenure,
            accepted,
            valid,
            ..
        } if !is_other(tenure.name.as_str()) => {
            let owner = if *valid { "as owner" } else { "too late" };
            let accepted = if *accepted { "accepted" } else { "refused" };
            format!("writes with {} {owner}: {accepted}", tenure.token)
        }
        What::Ran {
            schedule,
            tick,
            token,
            is_rerun,
            ended: None,
        } if !is_other(schedule.as_str()) => {
            let again = if *is_rerun { " again" } else { "" };
            format!("runs {tick} of {schedule} with {token}{again}")
        }
        _ => return None,
    })
}
