//! What can happen.

use std::time::{Duration, Instant};

use fastrand::Rng;
use tenure_testkit::servers::ServerError;

use crate::log::Log;

/// Where and for how long something happens.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What is chosen by.
    pub chance: Rng,
    /// For how long.
    pub length: Duration,
    /// Where what is done is noted.
    pub log: &'a Log,
}

impl Scene<'_> {
    /// Waits for so many lengths.
    pub fn wait(&self, lengths: f64) {
        std::thread::sleep(self.length.mul_f64(lengths));
    }

    /// Waits until it is so, for at most so long; whether it is.
    pub fn until(&self, limit: Duration, is_so: impl Fn() -> bool) -> bool {
        let end = Instant::now() + limit;
        loop {
            if is_so() {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// One of so many.
    pub fn one(&mut self, of: usize) -> usize {
        self.chance.usize(..of)
    }
}

/// What goes wrong. An error is for what did not happen; what was broken and could not be mended is
/// mended with all else.
type Deed<'a> = Box<dyn Fn(&mut Scene<'_>) -> Result<(), ServerError> + Send + Sync + 'a>;

/// What a mishap may cost beside the time it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing.
    Time,
    /// What the store knows.
    Memory,
    /// The store's clock, which goes ahead and back again.
    Clock,
    /// The lives of all workers.
    Lives,
    /// That all live in one boot of the machine.
    Boot,
    /// That the store's clock goes as fast as others.
    ServerSpeed,
    /// That a worker's clock goes as fast as others.
    WorkerSpeed,
    /// The company of all other mishaps: what it finds would be their doing.
    Company,
}

/// What is not promised together. A store that forgets its last token while its clock goes back
/// cannot make a larger one; another boot, seen when no worker lives, ends every lease at once; and
/// two clocks that drift may be further apart than is borne. A clock that drifts is not set.
const TOO_MUCH: [[Cost; 2]; 4] = [
    [Cost::Memory, Cost::Clock],
    [Cost::Lives, Cost::Boot],
    [Cost::ServerSpeed, Cost::WorkerSpeed],
    [Cost::ServerSpeed, Cost::Clock],
];

/// Something that can happen: it breaks something, waits, and mends it.
pub struct Mishap<'a> {
    /// In the words of the report.
    pub name: &'static str,
    /// What it may cost.
    pub cost: Cost,
    /// Does it.
    pub happens: Deed<'a>,
}

impl<'a> Mishap<'a> {
    /// One that costs nothing but time.
    pub fn new(
        name: &'static str,
        happens: impl Fn(&mut Scene<'_>) -> Result<(), ServerError> + Send + Sync + 'a,
    ) -> Self {
        Self {
            name,
            cost: Cost::Time,
            happens: Box::new(happens),
        }
    }

    /// One that may cost this.
    #[must_use]
    pub fn costing(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// Whether both may happen at the same time.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        let costs = [self.cost, other.cost];
        if costs.contains(&Cost::Company) {
            return false;
        }
        let both = |pair: &[Cost; 2]| pair.iter().all(|cost| costs.contains(cost));
        !TOO_MUCH.iter().any(both)
    }
}

impl std::fmt::Debug for Mishap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mishap")
            .field("name", &self.name)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_something_by_itself_happens_alone() {
        let one = |cost| Mishap::new("", |_| Ok(())).costing(cost);
        let alone = one(Cost::Company);
        for other in [Cost::Time, Cost::Memory, Cost::Company] {
            assert!(!alone.goes_with(&one(other)), "{other:?}");
            assert!(!one(other).goes_with(&alone), "{other:?}");
        }
        assert!(one(Cost::Time).goes_with(&one(Cost::Memory)));
        assert!(!one(Cost::Clock).goes_with(&one(Cost::Memory)));
    }
}
