//! The tenures of a history, and when its store may have forgotten one.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_testkit::history::{Event, TenureId, What};

/// When one tenure was valid, by what its owner saw.
#[derive(Clone, Debug)]
pub struct Valid {
    /// Which one.
    pub id: TenureId,
    /// Whose it was.
    pub process: Box<str>,
    /// Since when at the latest.
    pub from: Duration,
    /// Its first deadline: its store was asked for it a lease before at the earliest.
    pub deadline: Duration,
    /// Until when at least: its deadline, or when it was given back or lost.
    pub until: Duration,
    /// Whether its owner told of its end.
    pub is_over: bool,
    /// First and last moment of each use by which it was valid all the time.
    pub uses: Vec<(Duration, Duration)>,
}

/// The tenures of each mutex, in the order in which they began.
#[must_use]
pub fn tenures(events: &[Event]) -> BTreeMap<String, Vec<Valid>> {
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
                from: event.at,
                deadline,
                until: deadline.max(event.at),
                is_over: false,
                uses: Vec::new(),
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
            } => valid.uses.push((event.at, answered)),
            _ => {}
        }
    }
    all
}

/// Whether the tenure at `place` was handed over inside its process, out of a grant that the
/// store had forgotten and given anew before. Its token is the old grant's, and smaller: it
/// belongs to the old owner, whose last lease it is.
#[must_use]
pub fn is_left_over(tenures: &[Valid], place: usize, forgets: &Forgets) -> bool {
    let tenure = &tenures[place];
    let token = tenure.id.token;
    let is_origin = |before: &Valid| {
        before.process == tenure.process && before.id.token.store() == token.store()
    };
    token.hand_over() > 0
        && forgets.at(tenure.from)
        && tenures[..place].iter().any(is_origin)
        && tenures[..place]
            .iter()
            .any(|it| it.id.token.store() > token.store())
}

/// The spans in which the store may have forgotten a grant, or ended a lease early.
#[derive(Clone, Debug, Default)]
pub struct Forgets(Vec<(Duration, Duration)>);

impl Forgets {
    /// Whether `moment` lies in one of them.
    #[must_use]
    pub fn at(&self, moment: Duration) -> bool {
        let mut spans = self.0.iter();
        spans.any(|(from, until)| *from <= moment && moment <= *until)
    }

    /// Whether anything of this time lies in one of them.
    #[must_use]
    pub fn within(&self, from: Duration, until: Duration) -> bool {
        let mut spans = self.0.iter();
        spans.any(|(start, end)| *start <= until && from <= *end)
    }
}

/// From the beginning of each fault that lets a store forget, until a lease after it was mended:
/// an owner from before believes for no longer.
#[must_use]
pub fn forgets(events: &[Event], lease: Duration) -> Forgets {
    let mut spans: Vec<(Box<str>, Duration, Option<Duration>)> = Vec::new();
    for event in events {
        let What::Fault {
            what,
            is_over,
            forgets: true,
        } = &event.what
        else {
            continue;
        };
        if *is_over {
            let open = |span: &&mut (Box<str>, Duration, Option<Duration>)| {
                span.0 == *what && span.2.is_none()
            };
            if let Some(span) = spans.iter_mut().find(open) {
                span.2 = Some(event.at + lease);
            }
        } else {
            spans.push((what.clone(), event.at, None));
        }
    }
    let end = Duration::MAX;
    Forgets(
        spans
            .into_iter()
            .map(|(_, from, until)| (from, until.unwrap_or(end)))
            .collect(),
    )
}
