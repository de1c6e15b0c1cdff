#![doc = include_str!("../docs/queue.md")]

#[expect(clippy::module_inception)] // The home of the queue itself.
mod queue;
mod sync;

pub use queue::{Competitor, CompetitorQueue, Place};
