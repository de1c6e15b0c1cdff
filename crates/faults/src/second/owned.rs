//! What the second judge makes of a history. It does not ask the first one's opinion: what both read
//! wrongly, neither would find.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::model::FencingToken;
use tenure_testkit::history::{Event, TenureId, What};

use crate::judge::Terms;

/// One tenure, as its owner told of it.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) process: Box<str>,
    pub(super) token: FencingToken,
    /// Between which moments it was taken. Who is killed may have used what it never told of.
    pub(super) taken: (Duration, Duration),
    /// First and last moment of each use by which it was valid all the time.
    pub(super) uses: Vec<(Duration, Duration)>,
    /// Until when its owner believed in it.
    pub(super) until: Duration,
}

/// The tenures of each mutex, in the order in which they were heard of.
pub(super) fn owned(events: &[Event], terms: Terms) -> BTreeMap<String, Vec<Owned>> {
    let mut all: BTreeMap<String, Vec<Owned>> = BTreeMap::new();
    let mut places: BTreeMap<(&str, &TenureId), usize> = BTreeMap::new();
    for event in events {
        let (tenure, valid_until) = match &event.what {
            What::Granted { tenure, deadline } | What::Extended { tenure, deadline } => {
                (tenure, Some(*deadline))
            }
            What::Used {
                tenure,
                answered,
                valid: true,
                ..
            } => (tenure, Some(*answered)),
            What::Ended { tenure, .. } => (tenure, None),
            _ => continue,
        };
        let of_name = all.entry(tenure.name.as_str().to_owned()).or_default();
        let known = places.get(&(&*event.process, tenure)).copied();
        let place = known.unwrap_or(of_name.len());
        if known.is_none() {
            places.insert((&event.process, tenure), place);
            let earliest = match event.what {
                What::Granted { deadline, .. } => deadline.saturating_sub(terms.lease),
                _ => Duration::ZERO,
            };
            of_name.push(Owned {
                process: event.process.clone(),
                token: tenure.token,
                taken: (earliest.min(event.at), event.at),
                uses: Vec::new(),
                until: event.at,
            });
        }
        let owned = &mut of_name[place];
        owned.until = match valid_until {
            Some(until) => owned.until.max(until),
            None => owned.until.min(event.at),
        };
        if let What::Used { answered, .. } = event.what {
            owned.uses.push((event.at, answered));
        }
    }
    all
}
