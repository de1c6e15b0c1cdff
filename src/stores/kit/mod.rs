//! What the stores have in common, whatever they speak.
//!
//! | file | what it is |
//! | --- | --- |
//! | `clock` | the time of a store that tells it only in its answers |
//! | `closing` | whether a client has been closed |
//! | `hints` | the hints of one listener, from who knows to who wants to know |
//! | `listeners` | who listens to which name in this process |
//! | `secret` | text that is never shown |
//! | `skew` | whether the clocks of servers that stand in for each other agree |
//! | `source` | a value of the application's that may change |
//! | `tested` | which versions of a server the suite has run on |
//! | `wall` | this host's wall clock |

#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
mod clock;
mod closing;
mod hints;
mod listeners;
#[cfg(feature = "sqlite")]
mod secret;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
pub(super) mod skew;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod source;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod tested;
mod wall;

#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
pub(super) use clock::HeardClock;
pub(super) use closing::Closing;
pub(super) use hints::HintStream;
#[cfg(any(feature = "redis", all(feature = "sqlite", target_os = "linux")))]
pub(super) use hints::{HintSender, hints};
pub(super) use listeners::Listeners;
#[cfg(any(feature = "zookeeper", all(feature = "sqlite", target_os = "linux")))]
pub(super) use listeners::News;
#[cfg(feature = "sqlite")]
pub(super) use secret::Secret;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
pub(super) use source::Source;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
pub(super) use tested::Tested;
pub(super) use wall::wall;
