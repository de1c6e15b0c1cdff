//! [`Random`]: all the chance there is in an engine, so that a seed can replay it.

use crate::backend::Nonce;

/// Jitter and nonces. Seeded, it repeats itself exactly.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    rng: fastrand::Rng,
    seeded: bool,
}

impl Random {
    pub(crate) fn unseeded() -> Self {
        Self {
            rng: fastrand::Rng::new(),
            seeded: false,
        }
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            seeded: true,
        }
    }

    /// Whether a seed must replay it.
    pub(crate) fn is_seeded(&self) -> bool {
        self.seeded
    }

    /// A source for one contention, which no other's draws disturb.
    pub(crate) fn fork(&mut self) -> Self {
        Self {
            rng: self.rng.fork(),
            seeded: self.seeded,
        }
    }

    /// A number in `[0, 1)`.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.rng.f64()
    }

    /// A nonce: from the system's entropy, unless a seed must replay it.
    pub(crate) fn nonce(&mut self) -> Nonce {
        self.nonce_or(None)
    }

    /// The same; `drawn`, if one has been drawn and no seed replays it.
    pub(crate) fn nonce_or(&mut self, drawn: Option<Nonce>) -> Nonce {
        if self.seeded {
            return Nonce::from_bits(self.rng.u128(..));
        }
        drawn.unwrap_or_else(Nonce::random)
    }
}
