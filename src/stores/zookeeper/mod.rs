//! ZooKeeper, sharing its latches with Curator's `LeaderLatch`.
//!
//! A mutex `m` is the container node `/simba/m`. Each contender has one
//! ephemeral sequential child `_c_<uuid>-latch-<10 digits>` with its id as
//! data; the lowest owns, each of the others watches the one before it. The
//! uuid is the bid's nonce, so a create whose answer was lost is found again;
//! the token is the node's czxid.
//!
//! See `docs/stores/zookeeper.md` for the URL, the costs and the failures.
//!
//! All contenders of a client share one session, with the negotiated timeout
//! T. Pings prove nothing: a server that is cut off from the others answers
//! them long after the session has expired. So a lease rests on what the leader
//! and the quorum have answered, to a `sync` every T/8 and a write every T/4
//! while something is owned, and lasts 5/8 T at most; see `proof`. A grant that
//! was not renewed in time is over for good: its node is deleted, also when
//! the session lives.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the URL says |
//! | `client` | the client, and the seam |
//! | `session` | the session: made, kept alive, replaced |
//! | `tls` | what is trusted and shown over TLS |
//! | `relay` | carries the driver's connections over TLS |
//! | `kin` | whether a connection is our own |
//! | `latch` | taking the mutex or a place before it |
//! | `grant` | renewing and giving back |
//! | `places` | which nodes are ours, and until when they count |
//! | `proof` | until when a lease may rest on what was answered |
//! | `reaper` | deletes nodes of ours that nobody wants any more |
//! | `ears` | who listens |
//! | `lookout` | watches for those who only observe |
//! | `reading` | who owns, who waits |
//! | `listing` | all mutexes, a page at a time |
//! | `revocation` | freeing by force, and mending |
//! | `prune` | removing what nobody uses |
//! | `ledger` | the run ledger of schedules |
//! | `setup` | the nodes that everything lies below |
//! | `health` | what a person should know |
//! | `path` | names as paths |
//! | `scale` | the store's time |
//! | `fault` | the driver's errors as ours |

mod client;
mod config;
mod ears;
mod fault;
mod grant;
mod health;
mod kin;
mod latch;
mod ledger;
mod ledgers;
mod listing;
mod lookout;
mod path;
mod places;
mod proof;
mod prune;
mod reading;
mod reaper;
mod relay;
mod revocation;
mod scale;
mod session;
mod setup;
mod tls;

pub use client::ZooKeeper;
pub(crate) use config::open;
pub use setup::commands;
pub(crate) use setup::prepare;
