//! Combination locks: one lock over several independent Redis servers.
//!
//! All contenders lock the nodes from left to right, in the order in which the
//! builder was given them, and unlock from right to left. A node that times
//! out or cannot be reached is skipped, by all contenders of the process,
//! until it answers a probe.
//!
//! | | [`Mode::Leftmost`] | [`Mode::Majority`] |
//! | --- | --- | --- |
//! | lost | at the first node that another holds | when a majority cannot be had any more |
//! | won | every node that answers is locked, `min_available` at least | more than half are locked |
//! | fails | too few nodes answer, or the acquire timeout is over | the same |
//!
//! A failed attempt is undone on every node it reached, the silent ones
//! included. A node that restarted less than an expiry ago may have forgotten
//! a holder: it is locked, and does not count.

mod builder;
mod guard;
mod lock;
mod node_options;

pub use builder::CombinationBuilder;
pub use guard::CombinationGuard;
pub use lock::CombinationLock;

#[doc(hidden)]
pub use crate::stores::combination::Combined;
pub use crate::stores::combination::Mode;
