//! Several independent Redis servers as one store.
//!
//! [`combination`](crate::combination) says what its lock promises, and how
//! its nodes decide.
//!
//! | file | what it is |
//! | --- | --- |
//! | `client` | the nodes as one: the seam to the rest |
//! | `own_bids` | what this process knows of its own bids |
//! | `rules` | when it is won, and how long it may take |
//! | `admission` | which nodes have a vote |
//! | `attempt` | the way from left to right that takes |
//! | `grant` | what a won attempt has on each node, and until when |
//! | `renew` | renewing on all nodes |
//! | `upkeep` | taking a node that came back while it is held |
//! | `unlock` | the way from right to left that frees |
//! | `release` | giving back, and freeing by force |
//! | `look` | who holds, and the wake-ups of all nodes |
//! | `pace` | how often to look |
//! | `node` | one server, as one lock sees it |
//! | `pulse` | whether a server answers, and when it is probed |
//! | `connection` | the connection to a server, which the locks of a process share |
//! | `connections` | all such connections of this process |

mod admission;
mod attempt;
mod client;
mod connection;
mod connections;
mod grant;
mod look;
mod node;
mod own_bids;
mod pace;
mod pulse;
mod release;
mod renew;
mod rules;
mod unlock;
mod upkeep;

pub use client::Combined;
pub(crate) use connection::ConnectionUse;
pub(crate) use connections::join;
pub(crate) use node::{Node, is_twin};
pub use rules::Mode;
pub(crate) use rules::{Rules, Wishes};
