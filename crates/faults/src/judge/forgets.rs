//! When the store of a history forgot, and what that excuses.

use std::time::Duration;

use tenure_testkit::history::{Event, What};

use super::Terms;

/// What is told where a store loses the ledgers of schedules and no grant that still counts: from
/// before until after it.
pub const LEDGERS: &str = "ledgers lost";

/// The moments at which a store forgot grants or ended leases early, each as well as it is known.
///
/// An owner that was forgotten learns of it at its next renewal, and by its deadline at the latest.
/// So a moment excuses only what began by it and is over one lease after it.
#[derive(Clone, Debug)]
pub struct Forgets {
    /// It had not forgotten before the first, and had by the second.
    moments: Vec<(Duration, Duration)>,
    terms: Terms,
}

impl Forgets {
    /// Those that a history tells of.
    #[must_use]
    pub fn of(events: &[Event], terms: Terms) -> Self {
        let moment = |event: &Event| match event.what {
            What::Forgot { since } => Some((since, event.at)),
            _ => None,
        };
        Self {
            moments: events.iter().filter_map(moment).collect(),
            terms,
        }
    }

    /// The same, and those at which it forgot no grant but what had been begun.
    #[must_use]
    pub fn of_ledgers(events: &[Event], terms: Terms) -> Self {
        let mut forgets = Self::of(events, terms);
        let mut since = None;
        for event in events {
            match &event.what {
                What::Fault { what, is_over } if &**what == LEDGERS => match is_over {
                    false => since = Some(event.at),
                    true => forgets
                        .moments
                        .extend(since.take().map(|since| (since, event.at))),
                },
                _ => {}
            }
        }
        forgets
    }

    /// Whether who asked for its grant at `asked` may have been forgotten, so that another
    /// owner was let in at `next` while it believed until `until`.
    #[must_use]
    pub fn excuse(&self, asked: Duration, next: Duration, until: Duration) -> bool {
        let lease = self.terms.lease;
        self.moments
            .iter()
            .any(|(since, by)| asked <= *by && *since <= next && until <= *by + lease)
    }

    /// From when on a tenure may have been forgotten that was asked for at `asked` and believed
    /// in until `until`. Who believed for longer than a lease after a moment was renewed after it,
    /// and so was remembered.
    #[must_use]
    pub fn since(&self, asked: Duration, until: Duration) -> Option<Duration> {
        let Terms { lease, returns, .. } = self.terms;
        let fits = |(since, by): &&(Duration, Duration)| {
            asked <= *by && *since <= until && (returns || until <= *by + lease)
        };
        let since = self.moments.iter().filter(fits).map(|(since, _)| *since);
        since.min()
    }
}
