//! One node of a combination lock: its options, and how quickly it answers.

use std::time::Duration;

use crate::backend::AnyHoldStore;
use crate::backend::url::StoreUrl;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::stores::StoreOptions;

/// A PING that takes longer than this makes the usual timeout a gamble.
const QUICK: Duration = Duration::from_millis(1);

/// How often a node is pinged when it is opened, and for how long at most.
const PINGS: (u32, Duration) = (3, Duration::from_secs(2));

/// A node that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) options: StoreOptions,
    pub(super) durable: bool,
}

/// What is said of a node.
pub(super) struct NodeOptions {
    pub(super) options: StoreOptions,
    pub(super) url: StoreUrl,
    pub(super) timeout: Option<Duration>,
    pub(super) durable: bool,
}

impl NodeOptions {
    pub(super) fn parse(wanted: &Wanted) -> Result<Self> {
        let url = wanted.options.url()?.clone();
        if !matches!(url.scheme(), "redis" | "rediss" | "redis+unix") {
            return Err(Error::invalid(format!(
                "a node of a combination lock is one Redis server, as in \
                 \"redis://10.0.0.1:6379\", not {:?}",
                url.scheme()
            )));
        }
        let mut options = url.options();
        for key in ["ttl", "transition", "margin"] {
            if options.text(key).is_some() {
                return Err(Error::invalid(format!(
                    "a node has no option {key:?}: the expiry is the lock's, set it with \
                     expiry(…)"
                )));
            }
        }
        let timeout = options.duration("call_timeout")?;
        Ok(Self {
            options: wanted.options.clone(),
            url,
            timeout,
            durable: wanted.durable,
        })
    }

    pub(super) fn is_same_server(&self, other: &Self) -> bool {
        let at = |url: &StoreUrl| {
            let usual = |host: &crate::backend::url::HostPort| {
                (host.host.to_ascii_lowercase(), host.port.unwrap_or(6379))
            };
            url.hosts().iter().map(usual).collect::<Vec<_>>()
        };
        let is_socket = |url: &StoreUrl| url.hosts().is_empty();
        match (is_socket(&self.url), is_socket(&other.url)) {
            (true, true) => self.url.path() == other.url.path(),
            (false, false) => at(&self.url) == at(&other.url),
            _ => false,
        }
    }
}

/// The same error, about one node.
pub(super) fn of_node(place: &str, error: Error) -> Error {
    Error::new(error.kind(), error.outcome())
        .with_message(format!("{place}: {error}"))
        .with_retry(error.retry())
        .with_source(error)
}

pub(super) async fn slowest_ping(
    store: &AnyHoldStore,
    clock: &Clock,
    place: &str,
) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    for _ in 0..PINGS.0 {
        let sent = clock.now();
        let answer = clock.limit(sent + PINGS.1, store.ping()).await;
        let late = || {
            Error::new(ErrorKind::Timeout, Outcome::DidNot)
                .with_message(format!("no answer to a PING within {:?}", PINGS.1))
        };
        let answer = answer.unwrap_or_else(|| Err(late()));
        answer.map_err(|error| of_node(place, error))?;
        slowest = slowest.max(clock.now().since(sent));
    }
    Ok(slowest)
}

pub(super) fn warn_of_slowness(place: &str, ping: Duration, timeout: Duration) {
    if ping > QUICK {
        tracing::warn!(
            target: "tenure::lock",
            "{place} took {ping:.1?} to answer a PING, and is skipped when it takes {timeout:?} to \
             answer a command: auto_command_timeout() or a longer command_timeout(…) may suit it \
             better"
        );
    }
}
