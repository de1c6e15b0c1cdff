//! [`judge`]: whether a history kept the promises.
//!
//! 1. No two tenures of one name were valid at the same moment, each by its own
//!    deadline, except within the grace after the store itself forgot.
//! 2. Tokens only rise, per name, in the order in which tenures began.
//! 3. A tenure that was over by its own deadline is not extended afterwards.
//! 4. A resource that checks tokens never accepted one older than one it had
//!    accepted before.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tenure::model::{FencingToken, MutexName};

use crate::history::{Event, History, TenureId, What};

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub kind: Kind,
    /// In words.
    pub message: String,
    /// The events that show it, and those around them.
    pub events: Vec<Event>,
}

/// The promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Two tenures of one name at the same moment.
    TwoOwners,
    /// A token that is not larger than the one before it.
    TokenFell,
    /// A tenure extended after its own deadline, or without having begun.
    Revived,
    /// A resource accepted an older token than before.
    OldWrite,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}: {}", self.kind, self.message)?;
        for event in &self.events {
            writeln!(f, "    {event}")?;
        }
        Ok(())
    }
}

/// Judges `history`.
///
/// # Errors
/// Every violation that was found; print them to see the events around each.
pub fn judge(history: &History) -> Result<(), Vec<Violation>> {
    let events = history.events();
    let mut violations = Vec::new();
    let (tenures, revived) = tenures(&events);
    for (index, why) in revived {
        let message = format!("{why}: {}", events[index]);
        violations.push(violation(Kind::Revived, message, &events, &[index]));
    }
    let graces = graces(&events);
    for of_name in tenures.values() {
        overlaps(of_name, &graces, &events, &mut violations);
        falls(of_name, &events, &mut violations);
    }
    old_writes(&events, &mut violations);
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
}

/// When one tenure was valid.
struct Valid<'a> {
    id: &'a TenureId,
    from: Duration,
    until: Duration,
    granted: usize,
    has_ended: bool,
}

type ByName<'a> = BTreeMap<&'a MutexName, Vec<Valid<'a>>>;

/// The tenures of each name in the order in which they began, and the
/// extensions that no running tenure could have.
fn tenures(events: &[Event]) -> (ByName<'_>, Vec<(usize, &'static str)>) {
    let mut tenures = ByName::new();
    let mut revived = Vec::new();
    // Which process holds a tenure tells it from another's with the same token,
    // which would be a violation of its own.
    let mut running: BTreeMap<(&str, &TenureId), usize> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let process = &*event.process;
        match &event.what {
            What::Granted { tenure, deadline } => {
                let of_name = tenures.entry(&tenure.name).or_default();
                running.insert((process, tenure), of_name.len());
                of_name.push(Valid {
                    id: tenure,
                    from: event.at,
                    until: (*deadline).max(event.at),
                    granted: index,
                    has_ended: false,
                });
            }
            What::Extended { tenure, deadline } => {
                let place = running.get(&(process, tenure)).copied();
                let of_name = tenures.entry(&tenure.name).or_default();
                match place.map(|place| &mut of_name[place]) {
                    None => revived.push((index, "extended without having begun")),
                    Some(valid) if valid.has_ended => {
                        revived.push((index, "extended after its end"));
                    }
                    Some(valid) if valid.until < event.at => {
                        revived.push((index, "extended after its deadline"));
                        valid.until = *deadline;
                    }
                    Some(valid) => valid.until = valid.until.max(*deadline),
                }
            }
            What::Ended { tenure, .. } => {
                let place = running.get(&(process, tenure)).copied();
                let of_name = tenures.entry(&tenure.name).or_default();
                if let Some(valid) = place.map(|place| &mut of_name[place]) {
                    valid.until = valid.until.min(event.at);
                    valid.has_ended = true;
                }
            }
            _ => {}
        }
    }
    (tenures, revived)
}

/// The spans in which two owners are the store's fault, joined where they meet.
fn graces(events: &[Event]) -> Vec<(Duration, Duration)> {
    let mut spans: Vec<(Duration, Duration)> = Vec::new();
    for event in events {
        if let What::StoreLost { grace } = event.what {
            let end = event.at.saturating_add(grace);
            match spans.last_mut().filter(|(_, until)| *until >= event.at) {
                Some((_, until)) => *until = end.max(*until),
                None => spans.push((event.at, end)),
            }
        }
    }
    spans
}

fn overlaps(
    tenures: &[Valid<'_>],
    graces: &[(Duration, Duration)],
    events: &[Event],
    violations: &mut Vec<Violation>,
) {
    // The one that lasts longest so far: whom a later tenure overlaps at all,
    // it overlaps longest with this one.
    let mut longest: Option<&Valid<'_>> = None;
    for tenure in tenures {
        if let Some(before) = longest {
            let (from, until) = (tenure.from, tenure.until.min(before.until));
            let excused = graces
                .iter()
                .any(|(start, end)| *start <= from && until <= *end);
            if from < until && !excused {
                let message = format!(
                    "{:?} and {:?} both owned {:?} for {:?} from {from:?}",
                    before.id.contender,
                    tenure.id.contender,
                    tenure.id.name,
                    until - from,
                );
                let shown = [before.granted, tenure.granted];
                violations.push(violation(Kind::TwoOwners, message, events, &shown));
            }
        }
        if longest.is_none_or(|before| before.until < tenure.until) {
            longest = Some(tenure);
        }
    }
}

fn falls(tenures: &[Valid<'_>], events: &[Event], violations: &mut Vec<Violation>) {
    let mut largest: Option<&Valid<'_>> = None;
    for tenure in tenures {
        match largest.filter(|before| tenure.id.token <= before.id.token) {
            Some(before) => {
                let message = format!(
                    "the token of {:?} was {} and then {}",
                    tenure.id.name, before.id.token, tenure.id.token
                );
                let shown = [before.granted, tenure.granted];
                violations.push(violation(Kind::TokenFell, message, events, &shown));
            }
            None => largest = Some(tenure),
        }
    }
}

fn old_writes(events: &[Event], violations: &mut Vec<Violation>) {
    let mut newest: BTreeMap<&str, (FencingToken, usize)> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let What::Written {
            resource,
            token,
            accepted: true,
        } = &event.what
        else {
            continue;
        };
        match newest.get(&**resource) {
            Some((before, at)) if token < before => {
                let message = format!("{resource:?} accepted {token} after {before}");
                violations.push(violation(Kind::OldWrite, message, events, &[*at, index]));
            }
            _ => {
                newest.insert(resource, (*token, index));
            }
        }
    }
}

/// A violation with the events at `shown` and a few around each.
fn violation(kind: Kind, message: String, events: &[Event], shown: &[usize]) -> Violation {
    const AROUND: usize = 3;
    let near = |index: usize| shown.iter().any(|at| at.abs_diff(index) <= AROUND);
    let events = events.iter().enumerate().filter(|(index, _)| near(*index));
    Violation {
        kind,
        message,
        events: events.map(|(_, event)| event.clone()).collect(),
    }
}
