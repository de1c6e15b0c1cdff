//! What is promised of schedules.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::model::FencingToken;
use tenure_testkit::history::{Event, What};

use super::{Forgets, Kind, Terms, Verdict};

/// One run of a tick.
#[derive(Clone, Copy)]
struct Run<'a> {
    process: &'a str,
    tick: u64,
    token: FencingToken,
    from: Duration,
    until: Duration,
    /// When its leader asked to lead, at the earliest that its first run tells of.
    asked: Duration,
}

/// A tick is begun once and in order, by one leader at a time; except for one lease after the store
/// forgot the older leader, and with it what had been begun; of which `ledgers` knows more.
pub(super) fn runs(
    events: &[Event],
    forgets: &Forgets,
    ledgers: &Forgets,
    terms: Terms,
    verdict: &mut Verdict,
) {
    // The last run of each schedule, and those that may still go on.
    let mut last: BTreeMap<&str, Run<'_>> = BTreeMap::new();
    let mut ended: BTreeMap<&str, Vec<Run<'_>>> = BTreeMap::new();
    let mut firsts: BTreeMap<(&str, FencingToken), Duration> = BTreeMap::new();
    for event in events {
        let What::Ran {
            schedule,
            tick,
            token,
            is_rerun,
            ended: until,
        } = &event.what
        else {
            continue;
        };
        let name = schedule.as_str();
        let first = *firsts.entry((name, *token)).or_insert(event.at);
        let run = Run {
            process: &event.process,
            tick: *tick,
            token: *token,
            from: event.at,
            until: until.unwrap_or(event.at),
            // It was claimed before it was begun; no call takes more of a lease.
            asked: first.saturating_sub(terms.lease / 4),
        };
        if until.is_some() {
            let others = ended.entry(name).or_default();
            others.retain(|other| other.until > run.from);
            let other = others.iter().filter(|other| other.process != run.process);
            other.for_each(|other| at_once(name, *other, run, forgets, verdict));
            others.push(run);
            continue;
        }
        verdict.tally.runs += 1;
        let Some(before) = last.get(name).copied() else {
            last.insert(name, run);
            continue;
        };
        let is_next = match is_rerun {
            true => run.tick >= before.tick,
            false => run.tick > before.tick,
        };
        let is_older = run.token < before.token;
        let is_allowed = match is_older {
            // An older leader that does not know yet.
            true => forgets.excuse(run.asked, before.from, run.from),
            false if is_next => true,
            // A newer one, and nothing is written down of what the older one had begun.
            false => {
                before.token < run.token && ledgers.excuse(before.asked, run.from, before.from)
            }
        };
        if !is_allowed {
            let message = format!(
                "{} began {tick} of {name:?} with {token} after {} had begun {} with {}",
                run.process, before.process, before.tick, before.token
            );
            verdict.find(Kind::RanTwice, name, (run.from, run.from), message);
        }
        if !is_older {
            last.insert(name, run);
        }
    }
}

/// `first` had not ended when another leader began `second`.
fn at_once(name: &str, first: Run<'_>, second: Run<'_>, forgets: &Forgets, verdict: &mut Verdict) {
    let (from, until) = (second.from, first.until.min(second.until));
    let (old, new) = match first.token <= second.token {
        true => (first, second),
        false => (second, first),
    };
    if from >= until || forgets.excuse(old.asked, new.from, until) {
        return;
    }
    let message = format!(
        "{} ran {} of {name:?} while {} still ran {}",
        second.process, second.tick, first.process, first.tick
    );
    verdict.find(Kind::RunsAtOnce, name, (from, until), message);
}
