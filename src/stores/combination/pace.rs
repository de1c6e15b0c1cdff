//! [`Pace`]: how often hints are passed on. Pure: it is told what time it is.

use std::time::Duration;

use crate::clock::Moment;

/// One hint in so long, in the long run.
const PERIOD: Duration = Duration::from_millis(50);

/// A few at once, and then one per period. An unlock is told by every node, and
/// each of its words may be the one that counts.
#[derive(Debug)]
pub(super) struct Pace {
    /// When all hints so far are paid for.
    paid: Moment,
    credit: Duration,
}

impl Pace {
    pub(super) fn new(nodes: usize, now: Moment) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        Self {
            paid: now,
            credit: PERIOD.saturating_mul(nodes.saturating_mul(2)),
        }
    }

    /// Until when nothing is passed on, if not now.
    pub(super) fn rests_until(&self, now: Moment) -> Option<Moment> {
        let ahead = self.paid.since(now);
        (ahead > self.credit).then(|| now + (ahead - self.credit))
    }

    /// A hint is passed on.
    pub(super) fn step(&mut self, now: Moment) {
        self.paid = self.paid.max(now) + PERIOD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_come_at_once_and_then_one_in_each_period() {
        let mut now = Moment::from_nanos(1_000_000_000_000);
        let mut pace = Pace::new(3, now);
        let (start, mut passed) = (now, 0);
        while now.since(start) < Duration::from_secs(2) {
            match pace.rests_until(now) {
                Some(at) => {
                    assert!(at > now && at.since(now) <= PERIOD);
                    now = at;
                }
                None => {
                    pace.step(now);
                    passed += 1;
                }
            }
        }
        assert!((40..=48).contains(&passed), "{passed} in 2 s");
        assert_eq!(pace.rests_until(now + Duration::from_secs(1)), None);
    }
}
