//! The tenures of a history.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_testkit::history::{Event, TenureId, What};

use super::Terms;

/// When one tenure was valid, by what its owner saw.
#[derive(Clone, Debug)]
pub struct Valid {
    /// Which one.
    pub id: TenureId,
    /// Whose it was.
    pub process: Box<str>,
    /// When its store was asked for it, at the earliest: a lease before its first deadline.
    pub asked: Duration,
    /// Since when at the latest.
    pub from: Duration,
    /// Until when at least: its deadline, or its last use as an owner; or when it was given back
    /// or lost.
    pub until: Duration,
    /// Whether its owner told of its end.
    pub is_over: bool,
}

/// The tenures of each mutex, in the order in which they began.
#[must_use]
pub fn tenures(events: &[Event], terms: Terms) -> BTreeMap<String, Vec<Valid>> {
    let mut all: BTreeMap<String, Vec<Valid>> = BTreeMap::new();
    let mut places: BTreeMap<(&str, &TenureId), usize> = BTreeMap::new();
    for event in events {
        let process = &*event.process;
        let (What::Granted { tenure, .. }
        | What::Extended { tenure, .. }
        | What::Ended { tenure, .. }
        | What::Used { tenure, .. }) = &event.what
        else {
            continue;
        };
        let of_name = all.entry(tenure.name.as_str().to_owned()).or_default();
        if let What::Granted { deadline, .. } = event.what {
            places.insert((process, tenure), of_name.len());
            of_name.push(Valid {
                id: tenure.clone(),
                process: event.process.clone(),
                asked: deadline.saturating_sub(terms.lease).min(event.at),
                from: event.at,
                until: deadline.max(event.at),
                is_over: false,
            });
            continue;
        }
        let Some(place) = places.get(&(process, tenure)) else {
            continue;
        };
        let valid = &mut of_name[*place];
        match event.what {
            What::Extended { deadline, .. } if !valid.is_over => {
                valid.until = valid.until.max(deadline);
            }
            What::Ended { .. } => {
                valid.until = valid.until.min(event.at);
                valid.is_over = true;
            }
            What::Used {
                answered,
                valid: true,
                ..
            } => valid.until = valid.until.max(answered),
            _ => {}
        }
    }
    all
}
