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
//! | `config` | what the options say |
//! | `options` | the options, set in code |
//! | `client` | the client: the seam to the rest |
//! | `session` | the session: made, kept alive, replaced |
//! | `tls` | what is trusted and shown over TLS |
//! | `relay` | carries the driver's connections over TLS |
//! | `own_process` | whether a connection to the relay is our own |
//! | `asked_watch` | a watch that is asked, and not waited for: on nodes of our own and their parents |
//! | `predecessor` | the watch of a waiter on the node before its own |
//! | `connection_number` | which connection something was told by |
//! | `runs` | mutexes that this client takes again and again |
//! | `acquire` | taking the mutex, or a place before it |
//! | `renew` | renewing and giving back |
//! | `nodes` | which nodes are ours, and until when they count |
//! | `proof` | until when a lease may rest on what was answered |
//! | `cleanup` | deletes nodes of ours that are no longer wanted |
//! | `watch` | who listens in this process, and what they are told |
//! | `watch_room` | how much a client may watch |
//! | `observe` | watches for those who only observe |
//! | `owner` | who owns, who waits |
//! | `revoke` | freeing by force, and mending |
//! | `ledger` | the run ledger of schedules |
//! | `ledgers` | all of them, a page at a time |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what no process has used for long |
//! | `schema` | the nodes that everything lies below |
//! | `health` | what a person should know |
//! | `path` | names as paths |
//! | `clock` | the store's time: that of the ensemble's leader |
//! | `error` | the driver's errors as ours |
//! | `fuzzing` | nodes that a fuzzer makes up |

mod acquire;
mod asked_watch;
mod cleanup;
mod client;
mod clock;
mod config;
mod connection_number;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod ledger;
mod ledgers;

mod list;
mod nodes;
mod observe;
mod options;
mod own_process;
mod owner;
mod path;
mod predecessor;
mod proof;
mod prune;
mod relay;
mod renew;
mod revoke;
mod runs;
mod schema;
mod session;
mod tls;
mod watch;
mod watch_room;

pub use client::ZooKeeper;
pub(crate) use config::open;
pub use options::{Acl, ZooKeeperOptions};
pub use path::Names;
pub use schema::commands;
pub(crate) use schema::prepare;
