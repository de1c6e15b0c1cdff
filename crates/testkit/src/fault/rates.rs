//! [`Rates`]: how often a seeded run goes wrong, and how.

use std::time::Duration;

use super::{Fault, HintFault};

/// The share of calls and hints that each fault befalls, from 0 to 1. What the
/// shares leave over goes well.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rates {
    /// Calls that fail before they are applied, and say so.
    pub fail: f64,
    /// Calls that are lost on their way: not applied, and the caller cannot know.
    pub lose_request: f64,
    /// Calls that are applied and whose answer is lost.
    pub lose_answer: f64,
    /// Calls that are late, before or after they are applied.
    pub delay: f64,
    /// Calls that are applied twice, at once or late.
    pub duplicate: f64,
    /// Hints that are lost.
    pub hint_lost: f64,
    /// Hints that come twice.
    pub hint_doubled: f64,
    /// Hints that come late or out of order.
    pub hint_delayed: f64,
    /// Hints that come with a [`Resumed`](tenure::backend::Hint::Resumed).
    pub hint_resumed: f64,
    /// The longest delay.
    pub longest: Duration,
}

impl Rates {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        fail: 0.0,
        lose_request: 0.0,
        lose_answer: 0.0,
        delay: 0.0,
        duplicate: 0.0,
        hint_lost: 0.0,
        hint_doubled: 0.0,
        hint_delayed: 0.0,
        hint_resumed: 0.0,
        longest: Duration::from_millis(500),
    };

    /// Every fault befalls this share of the calls or hints.
    #[must_use]
    pub fn all(share: f64) -> Self {
        Self {
            fail: share,
            lose_request: share,
            lose_answer: share,
            delay: share,
            duplicate: share,
            hint_lost: share,
            hint_doubled: share,
            hint_delayed: share,
            hint_resumed: share,
            ..Self::NONE
        }
    }

    /// The same, with delays of at most `longest`.
    #[must_use]
    pub fn delays_up_to(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    fn delay(&self, random: &mut fastrand::Rng) -> Duration {
        self.longest.mul_f64(random.f64())
    }

    pub(super) fn draw(&self, random: &mut fastrand::Rng) -> Fault {
        // Every draw takes the same number of numbers from the generator, so
        // that one fault more does not change all that follow.
        let (point, late, delay) = (random.f64(), random.bool(), self.delay(random));
        let faults = [
            (self.fail, Fault::Fail),
            (self.lose_request, Fault::LoseRequest),
            (self.lose_answer, Fault::LoseAnswer),
            (
                self.delay,
                if late {
                    Fault::DelayAfter(delay)
                } else {
                    Fault::DelayBefore(delay)
                },
            ),
            (
                self.duplicate,
                if late {
                    Fault::DuplicateLate(delay)
                } else {
                    Fault::Duplicate
                },
            ),
        ];
        pick(point, faults, Fault::None)
    }

    pub(super) fn draw_hint(&self, random: &mut fastrand::Rng) -> HintFault {
        let (point, late, delay) = (random.f64(), random.bool(), self.delay(random));
        let delayed = if late {
            HintFault::Delay(delay)
        } else {
            HintFault::Reorder
        };
        let faults = [
            (self.hint_lost, HintFault::Lose),
            (self.hint_doubled, HintFault::Double),
            (self.hint_delayed, delayed),
            (self.hint_resumed, HintFault::Resume),
        ];
        pick(point, faults, HintFault::None)
    }
}

fn pick<T, const N: usize>(mut point: f64, choices: [(f64, T); N], rest: T) -> T {
    for (share, choice) in choices {
        if point < share {
            return choice;
        }
        point -= share;
    }
    rest
}
