//! Another process that contends: to be killed, stopped and misled.
//!
//! A [`Peer`] is a real process that opens a store by its URL and contends for
//! one name through a [`Coordinator`](tenure::Coordinator) and a
//! [`ContendService`](tenure::service::ContendService). It is the test binary
//! itself, started again, so it needs no build of its own and has the same
//! features; write [`peer_process!`](crate::peer_process) once at the root of
//! the test crate. `tenure-peer` is the same program on its own.
//!
//! ```text
//! tenure-peer URL NAME [--id ID] [--ttl D] [--transition D]
//!                      [--hold D] [--rest D] [--rounds N] [--journal FILE]
//!                      [--churn N] [--reentrant N] [--try-lock 1]
//! ```
//!
//! It contends until it is told otherwise. With `--hold` it gives up each
//! tenure after that long, rests for `--rest`, and stands again, `--rounds`
//! times if given. On standard input it takes `stop`, `start` and `quit`; the
//! end of input is `quit`. On standard output it says, a line each:
//!
//! | line | when |
//! | --- | --- |
//! | `ready` | the store is open and the service started |
//! | `acquired TOKEN MILLIS` | it owns, for so many milliseconds by its own deadline |
//! | `released` | `on_released` was called |
//! | `stopped` | the service has stopped; with an error behind it if it failed |
//! | `trouble TEXT` | a warning or error of the library |
//! | `bye` | it has closed everything and ends |
//!
//! With `--churn N` it does not contend but takes, renews and releases the
//! names `NAME-0` to `NAME-{N-1}` straight in the store, as fast as that can,
//! with a tick of a schedule each: something to be killed in the middle of a
//! write. It says `ready` and nothing more.
//!
//! With `--journal FILE` it notes every few milliseconds that it owns, while it
//! does. [`read_journal`] reads what a fleet has noted in one file, and
//! [`judge`](crate::judge::judge) finds two owners of one moment in it.

mod args;
mod churn;
mod journal;
mod process;
mod program;
mod reentrant;
mod same_chance;
mod trouble;
mod twin;

pub use args::Args;
pub use journal::read_journal;
pub use process::{Acquired, Peer, PeerBuilder};
pub use program::main;
pub use same_chance::SameChance;

/// The name of the test that is the other process.
pub(crate) const TEST: &str = "peer_process";

/// Where the other process finds its arguments.
pub(crate) const ARGS: &str = "TENURE_PEER_ARGS";

/// Separates them; no argument has it.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// What [`peer_process!`](crate::peer_process) calls.
#[doc(hidden)]
pub fn process() {
    if let Ok(args) = std::env::var(ARGS) {
        std::process::exit(main(args.split(SEPARATOR).map(str::to_owned)));
    }
}

/// Makes this test binary able to be a [`Peer`]. Belongs at the root of the
/// test crate, once.
#[macro_export]
macro_rules! peer_process {
    () => {
        #[test]
        #[ignore = "no test: what the other processes of these tests run"]
        fn peer_process() {
            $crate::peer::process();
        }
    };
}
