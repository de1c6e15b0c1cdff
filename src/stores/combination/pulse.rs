//! [`Health`]: whether a node answers, and when it is probed. Pure: it is told
//! what time it is.

use std::time::Duration;

use crate::clock::Moment;

/// The first probe of a node that fell silent, and the pause between two in
/// need.
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// Whether a node answers.
#[derive(Debug, Default)]
pub(super) enum Health {
    #[default]
    Available,
    Down(Down),
}

/// A node that did not answer.
#[derive(Debug)]
pub(super) struct Down {
    pub(super) since: Moment,
    tried_at: Moment,
    pub(super) next_probe: Moment,
    pause: Duration,
    pub(super) why: String,
}

impl Health {
    /// It did not answer; true when it had before.
    pub(super) fn fell_silent(&mut self, now: Moment, why: String, longest: Duration) -> bool {
        if let Self::Down(down) = self {
            down.why = why;
            return false;
        }
        let pause = FIRST_PROBE.min(longest);
        *self = Self::Down(Down {
            since: now,
            tried_at: now,
            next_probe: now + pause,
            pause,
            why,
        });
        true
    }

    /// Whether the caller shall probe it: it is due, or nothing works without
    /// this node and the last try was a second ago. No other caller is told
    /// to before the next pause is over.
    pub(super) fn shall_probe(&mut self, now: Moment, in_need: bool, longest: Duration) -> bool {
        let Self::Down(down) = self else {
            return false;
        };
        let due = now >= down.next_probe || (in_need && now >= down.tried_at + FIRST_PROBE);
        if due {
            down.tried_at = now;
            down.pause = (down.pause * 2).min(longest);
            down.next_probe = now + down.pause;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn down() -> Health {
        let mut health = Health::Available;
        assert!(!health.shall_probe(at(0), true, LONGEST), "it answers");
        assert!(health.fell_silent(at(100), "why".into(), LONGEST));
        health
    }

    #[test]
    fn probes_come_after_one_second_and_then_half_as_often_each_time() {
        let mut health = down();
        let seconds = 100..150;
        let probes: Vec<u64> = seconds
            .filter(|second| health.shall_probe(at(*second), false, LONGEST))
            .collect();
        assert_eq!(probes, [101, 103, 107, 115, 125, 135, 145]);
    }

    #[test]
    fn one_who_probes_is_enough() {
        let mut health = down();
        assert!(health.shall_probe(at(101), true, LONGEST));
        assert!(!health.shall_probe(at(101), true, LONGEST));
    }

    #[test]
    fn in_need_there_is_a_probe_every_second() {
        let mut health = down();
        for second in 101..120 {
            health.shall_probe(at(second), false, LONGEST);
        }
        for second in 121..130 {
            assert!(health.shall_probe(at(second), true, LONGEST), "{second}");
        }
    }

    #[test]
    fn silence_that_goes_on_has_begun_when_it_began() {
        let mut health = down();
        assert!(!health.fell_silent(at(105), "still".into(), LONGEST));
        let Health::Down(down) = &health else {
            panic!("{health:?}");
        };
        assert_eq!((down.since, down.why.as_str()), (at(100), "still"));
        assert_eq!(down.next_probe, at(101), "not put off");
    }
}
