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
//!
//! | file | what it is |
//! | --- | --- |
//! | `lock`, `guard` | what the user has |
//! | `combined`, `backend` | the nodes as one [`Backend`](crate::backend::Backend) for the engine |
//! | `attempt`, `renewal` with `upkeep`, `unlock` with `release` | its three ways over the nodes |
//! | `look`, `pace` | who holds, and the wake-ups of all nodes |
//! | `grant` | what a won attempt has on each node, and until when |
//! | `node`, `health` | one server, whether it answers, when it is probed |
//! | `link` | the connection to a server, which the locks of a process share |
//! | `rules` | when it is won, and how long it may take |

mod attempt;
mod backend;
mod combined;
mod grant;
mod guard;
mod health;
mod link;
mod lock;
mod look;
mod node;
mod pace;
mod release;
mod renewal;
mod rules;
mod unlock;
mod upkeep;

#[doc(hidden)]
pub use combined::Combined;
pub use guard::CombinationGuard;
pub(crate) use link::{Link, Pulse, Seat};
pub use lock::CombinationLock;
pub(crate) use node::Node;
pub use rules::Mode;
pub(crate) use rules::{Rules, Wishes};
