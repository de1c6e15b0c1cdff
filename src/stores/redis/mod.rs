//! Redis, in the wire format of the JVM library Simba.
//!
//! Rust and JVM services can contend for the same mutex. See
//! `docs/stores/redis.md` for the URL's options, what lies in the store, and
//! the permissions needed. [`RedisHash`] is the layout of reentrant locks, shared
//! with Redisson.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the options say |
//! | `options` | the options, set in code |
//! | `words` | what the URLs of others say |
//! | `own` | the options, from what the application connects with |
//! | `client` | the client: the seam to the rest |
//! | `servers` | the servers behind a URL: one, or a cluster |
//! | `server` | one server and our connections to it |
//! | `connection` | one connection that is always being kept up |
//! | `connect` | making a connection |
//! | `tls` | the cryptography behind `rediss://` |
//! | `sentinels` | who is master in the eyes of most sentinels |
//! | `votes` | what sentinels say, and whether that decides it |
//! | `cluster` | which server has which slot, and following its moves |
//! | `slots` | the slots in the words of the nodes |
//! | `keys` | the names of keys and channels |
//! | `scripts` | the scripts, by their files |
//! | `arguments` | what a take and a release tell their scripts |
//! | `reply` | what the scripts answer |
//! | `messages` | the texts that JVM peers and ours exchange |
//! | `batches` | which questions go together in one script |
//! | `reckoning` | what a server's clock shows, reckoned from what it said last
//! | `renew` | renewing many grants in few calls |
//! | `look` | looking at one mutex, or at many |
//! | `dead_waiters` | clearing dead waiters away, a few at a time |
//! | `watch` | who listens in this process, and what they are told |
//! | `subscriber` | one subscribing connection per server, kept where it belongs |
//! | `ledger` | the run ledger of schedules |
//! | `ledgers` | all of them, a page at a time |
//! | `list` | mutexes, a page at a time |
//! | `walk` | a walk through all keys, in spells |
//! | `prune` | removing what no process has used for long |
//! | `health` | what a person should know |
//! | `skew` | whether the clocks of the servers agree |
//! | `schema` | what has to be made before the first use: a user, and what it must be permitted |
//! | `error` | the driver's errors as ours |
//! | `fuzzing` | answers that a fuzzer makes up |
//! | `hash` | the layout of reentrant locks, shared with Redisson |

mod arguments;
mod batches;
mod client;
mod cluster;
mod config;
mod connect;
mod connection;
mod dead_waiters;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hash;
mod health;
mod keys;
mod ledger;
mod ledgers;
mod list;
mod look;
mod messages;
mod options;
#[cfg(feature = "redis-1")]
mod own;
mod prune;
mod reckoning;
mod renew;
mod reply;
mod schema;
mod scripts;
mod sentinels;
mod server;
mod servers;
mod skew;
mod slots;
mod subscriber;
mod tls;
mod votes;
mod walk;
mod watch;
mod words;

pub use client::Redis;
pub(super) use config::open;
pub use hash::RedisHash;
pub use options::RedisOptions;
pub(super) use schema::setup;
