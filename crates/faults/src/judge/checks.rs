//! The promises, one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure::model::FencingToken;
use tenure_testkit::history::{Event, TenureId, What};

use super::{Forgets, Kind, Terms, Valid, Verdict, is_left_over};
use crate::register::{FENCED, PLAIN};

/// Rounding of times that were read one after the other.
const BLINK: Duration = Duration::from_millis(1);

/// Two are never valid at the same moment. Where the store forgot: for at most a lease.
pub(super) fn exclusion(
    name: &str,
    tenures: &[Valid],
    forgets: &Forgets,
    terms: Terms,
    verdict: &mut Verdict,
) {
    // Whom a later tenure overlaps at all, it overlaps longest with this one.
    let mut longest: Option<&Valid> = None;
    for tenure in tenures {
        verdict.tally.grants += 1;
        let before = longest.filter(|before| before.until > tenure.from);
        if let Some(before) = before {
            let (from, until) = (tenure.from, tenure.until.min(before.until));
            let length = until.saturating_sub(from);
            let is_allowed = forgets.at(from) && length <= terms.lease;
            if is_allowed {
                verdict.tally.forgotten += 1;
                let longest = &mut verdict.tally.longest_forgotten;
                *longest = length.max(*longest);
            } else if !length.is_zero() {
                let message = format!(
                    "{} with {} and {} with {} both owned {name:?} for {length:?}",
                    before.process, before.id.token, tenure.process, tenure.id.token
                );
                verdict.find(Kind::TwoOwners, name, (from, until), message);
            }
        }
        if longest.is_none_or(|before| before.until < tenure.until) {
            longest = Some(tenure);
        }
    }
}

/// Tokens rise, also where the store forgot.
pub(super) fn tokens(
    name: &str,
    tenures: &[Valid],
    forgets: &Forgets,
    terms: Terms,
    verdict: &mut Verdict,
) {
    let mut largest: Option<&Valid> = None;
    for (place, tenure) in tenures.iter().enumerate() {
        if is_left_over(tenures, place, forgets) {
            continue;
        }
        match largest.filter(|before| tenure.id.token <= before.id.token) {
            // Both were under way, and the store forgot the first before it was heard of.
            Some(before)
                if forgets.at(tenure.from)
                    && tenure.deadline.saturating_sub(terms.lease) < before.from => {}
            Some(before) => {
                let message = format!(
                    "{} got {} of {name:?} after {} had got {}",
                    tenure.process, tenure.id.token, before.process, before.id.token
                );
                let span = (before.from, tenure.from);
                verdict.find(Kind::TokenFell, name, span, message);
            }
            None => largest = Some(tenure),
        }
    }
}

/// No owner believes for longer than a lease, nor again after the end.
pub(super) fn beliefs(events: &[Event], terms: Terms, verdict: &mut Verdict) {
    let mut ended: BTreeSet<(&str, &TenureId)> = BTreeSet::new();
    for event in events {
        let process = &*event.process;
        let (tenure, deadline) = match &event.what {
            What::Granted { tenure, deadline } | What::Extended { tenure, deadline } => {
                (tenure, *deadline)
            }
            What::Ended { tenure, cause } => {
                if *cause != tenure::LossCause::Released {
                    verdict.tally.losses += 1;
                }
                ended.insert((process, tenure));
                continue;
            }
            _ => continue,
        };
        let (name, token) = (tenure.name.as_str(), tenure.token);
        if deadline > event.at + terms.lease + BLINK {
            let ahead = deadline - event.at;
            let message = format!("{process} believed in {token} of {name:?} for {ahead:?}");
            let span = (event.at, deadline);
            verdict.find(Kind::BelievedTooLong, name, span, message);
        }
        if ended.contains(&(process, tenure)) {
            let message = format!("{process} owned {name:?} with {token} again after its end");
            verdict.find(Kind::Revived, name, (event.at, deadline), message);
        }
    }
}

/// A register that checks tokens accepts the owner, and none that owned before.
pub(super) fn writes(events: &[Event], forgets: &Forgets, verdict: &mut Verdict) {
    let mut newest: BTreeMap<&str, FencingToken> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::Used {
                tenure,
                answered,
                accepted,
                valid,
            } => {
                let name = tenure.name.as_str();
                match (valid, accepted) {
                    (true, true) => verdict.tally.uses += 1,
                    (true, false) if !forgets.within(event.at, *answered) => {
                        let message = format!(
                            "{} owned {name:?} with {} and was refused",
                            event.process, tenure.token
                        );
                        let span = (event.at, *answered);
                        verdict.find(Kind::OwnerRefused, name, span, message);
                    }
                    (true, false) => {}
                    (false, accepted) => verdict.tally.late_refused += u64::from(!accepted),
                }
            }
            What::Written {
                resource,
                token,
                accepted: true,
            } => {
                let before = newest.entry(resource).or_insert(*token);
                if *token >= *before {
                    *before = *token;
                    continue;
                }
                let (register, name) = resource.split_once(' ').unwrap_or((resource, ""));
                if register == FENCED {
                    let message = format!("{resource} accepted {token} after {before}");
                    verdict.find(Kind::OldWrite, name, (event.at, event.at), message);
                } else if register == PLAIN {
                    verdict.tally.late_taken += 1;
                }
            }
            _ => {}
        }
    }
}

/// A tick is begun once and in order, by one leader at a time.
pub(super) fn runs(events: &[Event], forgets: &Forgets, verdict: &mut Verdict) {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    // Whether the ledger may have been lost since.
    let mut is_lost = false;
    // Of each schedule, the run that ended last.
    let mut over: BTreeMap<&str, (Duration, &str, u64)> = BTreeMap::new();
    for event in events {
        if let What::Fault { forgets: true, .. } = event.what {
            is_lost = true;
        }
        let What::Ran {
            schedule,
            tick,
            token,
            is_rerun,
            ended,
        } = &event.what
        else {
            continue;
        };
        let (name, process) = (schedule.as_str(), &*event.process);
        let is_allowed = forgets.at(event.at);
        if let Some(ended) = ended {
            let before = over.get(name);
            if let Some((until, whose, other)) = before
                && event.at < *until
                && *whose != process
                && !is_allowed
            {
                let message =
                    format!("{process} ran {tick} of {name:?} while {whose} still ran {other}");
                verdict.find(Kind::RunsAtOnce, name, (event.at, *until), message);
            }
            if before.is_none_or(|(until, ..)| until < ended) {
                over.insert(name, (*ended, process, *tick));
            }
            continue;
        }
        verdict.tally.runs += 1;
        let before = last.get(name).copied();
        let is_next = before.is_none_or(|before| match is_rerun {
            true => *tick >= before,
            false => *tick > before,
        });
        if !is_next && is_lost {
            is_lost = false;
        } else if !is_next && !is_allowed {
            let before = before.unwrap_or_default();
            let message = format!(
                "{process} began {tick} of {name:?} with {token} after {before} had been begun"
            );
            verdict.find(Kind::RanTwice, name, (event.at, event.at), message);
        }
        last.insert(name, *tick);
    }
}
