//! What goes wrong, and how often, in one world.

use std::time::Duration;

/// The rates of one world; drawn from its seed, so that some worlds are calm
/// and some are wild.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    pub(super) lose_request: f64,
    pub(super) lose_answer: f64,
    pub(super) double_request: f64,
    pub(super) lose_hint: f64,
    pub(super) double_hint: f64,
    pub(super) slow: f64,
}

#[derive(Debug)]
pub(super) struct Chance(fastrand::Rng);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed ^ 0x7e17_5eed))
    }

    pub(super) fn hits(&mut self, rate: f64) -> bool {
        self.0.f64() < rate
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit.max(1))
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Between `low` and `high` milliseconds.
    pub(super) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.0.u64(low * 1000..=high * 1000))
    }

    pub(super) fn rates(&mut self) -> Rates {
        let wildness = [0.0, 0.02, 0.1, 0.3][self.below(4)];
        let mut rate = || self.0.f64() * wildness;
        Rates {
            lose_request: rate(),
            lose_answer: rate(),
            double_request: rate(),
            lose_hint: rate() * 2.0,
            double_hint: rate(),
            slow: rate(),
        }
    }

    /// How long a message takes.
    pub(super) fn latency(&mut self, rates: &Rates) -> Duration {
        if self.hits(rates.slow) {
            self.millis(50, 3_000)
        } else {
            self.millis(0, 5)
        }
    }

    /// The speed of a clock, of which no two differ by more than `apart`; often
    /// as slow or as fast as that allows.
    pub(super) fn speed(&mut self, apart: f64) -> f64 {
        let at = match self.below(3) {
            0 => 0.0,
            1 => 1.0,
            _ => self.0.f64(),
        };
        1.0 + (at - 0.5) * apart
    }
}
