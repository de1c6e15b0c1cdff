//! What is seen of the workers while they work: a fault can wait for it.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_testkit::history::{Event, TenureId, What};

use crate::log::Log;

/// How far back a tenure may have begun.
const FAR: Duration = Duration::from_secs(30);

/// How often is looked.
const PAUSE: Duration = Duration::from_millis(1);

/// A tenure that was told of and not to be over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The name of the worker over all its lives.
    pub worker: String,
    /// Which.
    pub tenure: TenureId,
    /// When it was granted.
    pub since: Duration,
    /// Until when its owner believes.
    pub deadline: Duration,
}

/// All that is owned at `now`, by what the workers told.
#[must_use]
pub fn owned(events: &[Event], now: Duration) -> Vec<Owned> {
    let mut over = BTreeSet::new();
    let mut found: Vec<Owned> = Vec::new();
    let recent = events.iter().rev();
    for event in recent.take_while(|event| event.at + FAR > now) {
        let (tenure, deadline) = match &event.what {
            What::Ended { tenure, .. } => {
                over.insert(tenure.clone());
                continue;
            }
            What::Granted { tenure, deadline } | What::Extended { tenure, deadline } => {
                (tenure, *deadline)
            }
            _ => continue,
        };
        if over.contains(tenure) {
            continue;
        }
        match found.iter_mut().find(|owned| owned.tenure == *tenure) {
            Some(owned) => {
                owned.since = owned.since.min(event.at);
                owned.deadline = owned.deadline.max(deadline);
            }
            None => found.push(Owned {
                worker: worker(event).to_owned(),
                tenure: tenure.clone(),
                since: event.at,
                deadline,
            }),
        }
    }
    found.retain(|owned| owned.deadline > now);
    found
}

/// Until when the owner of `tenure` believes, unless it told that it is over.
#[must_use]
pub fn deadline(events: &[Event], tenure: &TenureId) -> Option<Duration> {
    let told = events.iter().rev().find_map(|event| match &event.what {
        What::Ended { tenure: it, .. } if it == tenure => Some(None),
        What::Granted {
            tenure: it,
            deadline,
        }
        | What::Extended {
            tenure: it,
            deadline,
        } if it == tenure => Some(Some(*deadline)),
        _ => None,
    });
    told.flatten()
}

/// When `tenure` was told to be over.
#[must_use]
pub fn ended(events: &[Event], tenure: &TenureId) -> Option<Duration> {
    let mut told = events.iter().rev();
    told.find_map(|event| match &event.what {
        What::Ended { tenure: it, .. } if it == tenure => Some(event.at),
        _ => None,
    })
}

/// Whether a worker was granted this mutex since `moment`.
#[must_use]
pub fn granted(events: &[Event], who: &str, name: &str, moment: Duration) -> bool {
    let recent = events.iter().rev();
    let mut recent = recent.take_while(|event| event.at + FAR > moment);
    recent.any(|event| match &event.what {
        What::Granted { tenure, .. } => {
            tenure.name.as_str() == name && worker(event) == who && event.at >= moment
        }
        _ => false,
    })
}

/// Whether a worker was granted this mutex since `moment`, or began a tick of this schedule.
#[must_use]
pub fn has_turn(events: &[Event], who: &str, name: &str, moment: Duration) -> bool {
    let recent = events.iter().rev();
    let mut recent = recent.take_while(|event| event.at + FAR > moment);
    recent.any(|event| {
        let is_it = match &event.what {
            What::Granted { tenure, .. } => tenure.name.as_str() == name,
            What::Ran { schedule, .. } => schedule.as_str() == name,
            _ => false,
        };
        is_it && worker(event) == who && event.at >= moment
    })
}

/// The name of a worker, whatever life of it this is.
fn worker(event: &Event) -> &str {
    event.process.split('.').next().unwrap_or_default()
}

impl Log {
    /// Waits until `look` sees what it wants in the events so far, for at most so long.
    pub fn wait<T>(&self, limit: Duration, look: impl Fn(&[Event]) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        loop {
            let seen = self.look(&look);
            if seen.is_some() || Instant::now() > end {
                return seen;
            }
            sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure::LossCause;
    use tenure::model::{ContenderId, FencingToken, MutexName};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn tenure(name: &str, token: u64) -> TenureId {
        TenureId {
            name: MutexName::new(name).unwrap(),
            contender: ContenderId::new("c").unwrap(),
            token: FencingToken::from_value(token).unwrap(),
        }
    }

    fn event(at: u32, what: What) -> Event {
        Event {
            at: SECOND * at,
            process: "w1.7".into(),
            what,
        }
    }

    #[test]
    fn what_was_granted_and_has_not_ended_is_owned_until_its_last_deadline() {
        let (one, two) = (tenure("lock", 1), tenure("lead", 1));
        let granted = |tenure: &TenureId| What::Granted {
            tenure: tenure.clone(),
            deadline: SECOND * 5,
        };
        let extended = What::Extended {
            tenure: one.clone(),
            deadline: SECOND * 6,
        };
        let ended = What::Ended {
            tenure: two.clone(),
            cause: LossCause::Released,
        };
        let mut events = vec![
            event(1, granted(&one)),
            event(2, granted(&two)),
            event(3, extended),
        ];
        assert_eq!(owned(&events, SECOND * 3).len(), 2);
        events.push(event(4, ended));
        let [owned_now] = &owned(&events, SECOND * 4)[..] else {
            panic!("{events:?}");
        };
        assert_eq!((&*owned_now.worker, &owned_now.tenure), ("w1", &one));
        assert_eq!((owned_now.since, owned_now.deadline), (SECOND, SECOND * 6));
        assert_eq!(owned(&events, SECOND * 6), []);
        let granted_since = |name: &str, at: u32| super::granted(&events, "w1", name, SECOND * at);
        assert!(granted_since("lock", 1) && granted_since("lead", 2));
        assert!(!granted_since("lock", 2) && !granted_since("again", 1));
        assert!(!super::granted(&events, "w2", "lock", SECOND));
        assert_eq!(deadline(&events, &one), Some(SECOND * 6));
        assert_eq!(deadline(&events, &two), None);
        assert_eq!(super::ended(&events, &two), Some(SECOND * 4));
    }
}
