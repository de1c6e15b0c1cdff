//! The other layout: a hash that Bedrock and Redisson's `RLock` share.
//!
//! The key is the lock's name as it is given, its one field the holder, the
//! value how often it is held. Ids are made for one bid only, so the field
//! tells one grant from another; the token lies beside, where Redisson's
//! fenced lock keeps its own.
//!
//! | file | what it is |
//! | --- | --- |
//! | `client` | the seam to the rest |
//! | `list` | the locks that are held |
//! | `names` | the names of keys, channels and fields |
//! | `renew` | renewing many grants in few calls |

mod client;
mod list;
mod names;
mod renew;

pub use client::RedisHash;
