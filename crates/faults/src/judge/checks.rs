//! The promises, one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure::model::FencingToken;
use tenure_testkit::history::{Event, TenureId, What};

use super::{Forgets, Kind, Terms, Valid, Verdict};
use crate::register::{FENCED, PLAIN};

/// Rounding of times that were read one after the other.
const BLINK: Duration = Duration::from_millis(1);

/// Two are never valid at the same moment, except for one lease after the store forgot the older.
pub(super) fn exclusion(
    name: &str,
    tenures: &[Valid],
    forgets: &Forgets,
    terms: Terms,
    verdict: &mut Verdict,
) {
    // Every pair is looked at: the excuse of one is none for another.
    let mut owning: Vec<&Valid> = Vec::new();
    for tenure in tenures {
        verdict.tally.grants += 1;
        owning.retain(|before| before.until > tenure.from);
        for before in &owning {
            let (from, until) = (tenure.from, tenure.until.min(before.until));
            let length = until.saturating_sub(from);
            if length.is_zero() {
                continue;
            }
            // The older grant may have been heard of later.
            let (old, new) = match before.id.token <= tenure.id.token {
                true => (before, &tenure),
                false => (&tenure, before),
            };
            let end = if terms.returns { until } else { old.until };
            if forgets.excuse(old.asked, new.from, end) {
                verdict.tally.forgotten += 1;
                let longest = &mut verdict.tally.longest_forgotten;
                *longest = length.max(*longest);
            } else {
                let message = format!(
                    "{} with {} and {} with {} both owned {name:?} for {length:?}",
                    before.process, before.id.token, tenure.process, tenure.id.token
                );
                verdict.find(Kind::TwoOwners, name, (from, until), message);
            }
        }
        owning.push(tenure);
    }
}

/// Tokens rise, also where the store forgot.
pub(super) fn tokens(name: &str, tenures: &[Valid], forgets: &Forgets, verdict: &mut Verdict) {
    let mut largest: Option<&Valid> = None;
    for (place, tenure) in tenures.iter().enumerate() {
        let Some(before) = largest.filter(|before| tenure.id.token <= before.id.token) else {
            largest = Some(tenure);
            continue;
        };
        let is_forgotten = forgets.excuse(tenure.asked, before.from, tenure.until);
        // Both were under way, and the store forgot this one before it was heard of.
        let is_late = tenure.asked < before.from;
        if is_forgotten && (is_late || is_handed_over(&tenures[..place], tenure)) {
            continue;
        }
        let message = format!(
            "{} got {} of {name:?} after {} had got {}",
            tenure.process, tenure.id.token, before.process, before.id.token
        );
        let span = (before.from, tenure.from);
        verdict.find(Kind::TokenFell, name, span, message);
    }
}

/// Whether a tenure was handed over inside its process, out of an earlier one: it has that one's
/// grant, and no other lease.
fn is_handed_over(earlier: &[Valid], tenure: &Valid) -> bool {
    let token = tenure.id.token;
    let is_origin =
        |it: &Valid| it.process == tenure.process && it.id.token.store() == token.store();
    token.hand_over() > 0 && earlier.iter().any(is_origin)
}

/// No owner believes for longer than it may, nor again after the end.
pub(super) fn beliefs(events: &[Event], terms: Terms, verdict: &mut Verdict) {
    let mut ended: BTreeSet<(&str, &TenureId)> = BTreeSet::new();
    for event in events {
        let process = &*event.process;
        let (tenure, deadline) = match &event.what {
            What::Granted { tenure, deadline } | What::Extended { tenure, deadline } => {
                (tenure, *deadline)
            }
            What::Used {
                tenure,
                answered,
                valid: true,
                ..
            } => (tenure, *answered),
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
        let is_use = matches!(event.what, What::Used { .. });
        if !is_use && deadline > event.at + terms.belief + BLINK {
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
pub(super) fn writes(
    events: &[Event],
    tenures: &BTreeMap<String, Vec<Valid>>,
    forgets: &Forgets,
    verdict: &mut Verdict,
) {
    let mut newest: BTreeMap<&str, FencingToken> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::Used {
                tenure,
                answered,
                accepted,
                valid,
            } => match (valid, accepted) {
                (true, true) => verdict.tally.uses += 1,
                (true, false) => {
                    let name = tenure.name.as_str();
                    let is_it = |it: &&Valid| it.process == event.process && it.id == *tenure;
                    let found = tenures.get(name).and_then(|all| all.iter().find(is_it));
                    let asked = found.map_or(event.at, |found| found.asked);
                    if forgets.excuse(asked, *answered, *answered) {
                        continue;
                    }
                    let message = format!(
                        "{} owned {name:?} with {} and was refused",
                        event.process, tenure.token
                    );
                    let span = (event.at, *answered);
                    verdict.find(Kind::OwnerRefused, name, span, message);
                }
                (false, accepted) => verdict.tally.late_refused += u64::from(!accepted),
            },
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
