//! [`CombinationBuilder`]: opens the nodes of a combination lock.

use std::time::Duration;

use tokio::runtime::Handle;

use super::lock::CombinationLock;
use super::node_options::{NodeOptions, Wanted, of_node, slowest_ping, warn_of_slowness};
use crate::backend::{AnyBackend, AnyHoldStore, HoldServer};
use crate::clock::Clock;
use crate::engine::{Engine, Random, Settings};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::lock::reentrant::ReentrantLocks;
use crate::lock::{ReentrantLock, ReentrantOptions};
use crate::model::{Jitter, MutexName, Purpose};
use crate::stores::StoreOptions;
use crate::stores::combination::{
    Combined, ConnectionUse, Mode, Node, Rules, Wishes, is_twin, join,
};

/// The command timeout of the source of this lock.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(5);

/// How often the head waiter looks without having heard anything.
const SAFETY_LOOK: Duration = Duration::from_secs(2);

/// What a [`CombinationLock`] is made with.
///
/// ```no_run
/// # async fn example() -> tenure::Result<()> {
/// use std::time::Duration;
/// use tenure::CombinationLock;
/// use tenure::combination::Mode;
///
/// let lock = CombinationLock::builder()
///     .nodes(["redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"])
///     .mode(Mode::Majority)
///     .expiry(Duration::from_secs(20))
///     .auto_command_timeout()
///     .build("stock")
///     .await?;
/// # lock.close().await
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CombinationBuilder {
    nodes: Vec<Wanted>,
    all_durable: bool,
    wishes: Wishes,
    timeout: Timeout,
    spin_wait: Option<Duration>,
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
enum Timeout {
    Fixed(Duration),
    Auto,
}

impl CombinationLock {
    /// A lock over the nodes that the builder is told.
    pub fn builder() -> CombinationBuilder {
        CombinationBuilder {
            nodes: Vec::new(),
            all_durable: false,
            wishes: Wishes::default(),
            timeout: Timeout::Fixed(COMMAND_TIMEOUT),
            spin_wait: None,
            clock: Clock::boot(),
        }
    }
}

impl CombinationBuilder {
    /// Adds a node to the right of those before: one server that knows nothing
    /// of the others, by its `redis://`, `rediss://` or `redis+unix:` URL, or by
    /// what says the same in code: `RedisOptions`, and with the feature `redis-1`
    /// those of the application's own client. All processes that share the lock
    /// name the same nodes in the same order. The option `call_timeout` is the
    /// node's command timeout.
    ///
    /// ```
    /// # #[cfg(feature = "redis")]
    /// # fn example() {
    /// use tenure::CombinationLock;
    /// use tenure::stores::redis::RedisOptions;
    /// # async fn token() -> std::io::Result<String> { Ok("token".to_owned()) }
    ///
    /// let node = |host| RedisOptions::new(host).with_tls().with_password_from(token);
    /// let lock = CombinationLock::builder().nodes(["a", "b", "c"].map(node));
    /// # let _ = lock;
    /// # }
    /// ```
    pub fn node(self, node: impl Into<StoreOptions>) -> Self {
        self.with_node(node.into(), false)
    }

    /// Adds a node that has every lock again after a restart: one that writes
    /// each change to disk before it answers (`appendfsync always`). It counts
    /// as soon as it is back.
    pub fn durable_node(self, node: impl Into<StoreOptions>) -> Self {
        self.with_node(node.into(), true)
    }

    fn with_node(mut self, options: StoreOptions, durable: bool) -> Self {
        self.nodes.push(Wanted { options, durable });
        self
    }

    /// Adds several nodes, from left to right.
    pub fn nodes<N: Into<StoreOptions>>(self, nodes: impl IntoIterator<Item = N>) -> Self {
        nodes.into_iter().fold(self, Self::node)
    }

    /// Whether all nodes are [durable](Self::durable_node).
    pub fn durable_nodes(mut self, durable: bool) -> Self {
        self.all_durable = durable;
        self
    }

    /// How the nodes decide; by leftmost weight unless it is said here.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.wishes.mode = mode;
        self
    }

    /// How many nodes must be locked; more than half of them, as is usual.
    pub fn min_available(mut self, nodes: usize) -> Self {
        self.wishes.min_available = Some(nodes);
        self
    }

    /// Allows a `min_available` of half the nodes or less. The lock is
    /// advisory then: two processes that reach different nodes may both hold
    /// it, and no node will have refused either.
    pub fn allow_disjoint_holders(mut self, allow: bool) -> Self {
        self.wishes.allow_disjoint_holders = allow;
        self
    }

    /// How long a node keeps the lock for a holder that has gone: 30 s unless
    /// it is said here. Renewed at half of it. The same for all processes.
    pub fn expiry(mut self, expiry: Duration) -> Self {
        self.wishes.expiry = expiry;
        self
    }

    /// What the acquire timeout gives each node: 50 ms, or the command timeout
    /// if that is longer, unless it is said here.
    pub fn node_operation_time(mut self, time: Duration) -> Self {
        self.wishes.node_operation_time = Some(time);
        self
    }

    /// How long one attempt may take over all nodes: the node operation time
    /// of each and 100 ms, unless it is said here; at least the command
    /// timeout.
    pub fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.wishes.acquire_timeout = Some(timeout);
        self
    }

    /// After what time without an answer a node counts as unavailable: 5 ms
    /// unless it is said here, enough inside one data centre only.
    pub fn command_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Timeout::Fixed(timeout);
        self
    }

    /// Makes the command timeout ten times the slowest PING that
    /// [`build`](Self::build) sees, and 5 ms at least.
    pub fn auto_command_timeout(mut self) -> Self {
        self.timeout = Timeout::Auto;
        self
    }

    /// The longest pause between two probes of a node that is silent: 15
    /// minutes unless it is said here. The first comes after a second, each
    /// after twice the pause of the one before; while too few nodes answer for
    /// the lock to be won, once a second.
    pub fn probe_max(mut self, pause: Duration) -> Self {
        self.wishes.probe_max = pause;
        self
    }

    /// How long the first waiter of the process goes without looking, in case
    /// the word of an unlock was lost: 2 s unless it is said here.
    pub fn spin_wait(mut self, wait: Duration) -> Self {
        self.spin_wait = Some(wait);
        self
    }

    /// The clock; otherwise [`Clock::boot`].
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Connects to the nodes and makes the lock called `name` over them. A node
    /// that is away, or does not let us in, is passed over with a warning and
    /// used when it can be, if as many as must be locked can be used now.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a URL, a name or a setting that
    /// makes no sense, saying what would; with too few nodes, why each of the
    /// others cannot be used, naming it.
    ///
    /// # Cancel safety
    /// Dropped, the connections are closed.
    pub async fn build(self, name: impl AsRef<str>) -> Result<CombinationLock> {
        let name = MutexName::new(name)?;
        let mut options = ReentrantOptions::default();
        if let Some(spin_wait) = self.spin_wait {
            options = options.with_spin_wait(spin_wait);
        }
        let clock = self.clock.clone();
        let (combined, rules) = self.open().await?;
        let settings = Settings {
            terms: rules.terms(),
            jitter: Jitter::default(),
            initial_delay: Duration::ZERO,
            quiesce: Duration::ZERO,
            inline_callbacks: false,
        };
        let backend = AnyBackend::new(combined.clone());
        let engine = Engine::new(backend, clock, runtime()?, settings, Random::unseeded());
        let holds = AnyHoldStore::new(combined.clone());
        let reentrant_locks = ReentrantLocks::shown_in(holds, engine, Purpose::Combination);
        let lock = ReentrantLock::new(&reentrant_locks, name, &options)?;
        Ok(CombinationLock::new(lock, combined))
    }

    /// The nodes as one backend, without a lock above it: for tests.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Cancel safety
    /// Dropped, the connections are closed.
    #[doc(hidden)]
    pub async fn backend(self) -> Result<Combined> {
        Ok(self.open().await?.0)
    }

    async fn open(self) -> Result<(Combined, Rules)> {
        let runtime = runtime()?;
        let nodes = self.node_options()?;
        // What is wrong without asking a server is told first.
        let at_least = match self.timeout {
            Timeout::Fixed(timeout) => timeout,
            Timeout::Auto => COMMAND_TIMEOUT,
        };
        let quorum = Rules::new(&self.wishes, nodes.len(), at_least)?.quorum();
        let mut opened: Vec<Opened<'_>> = Vec::with_capacity(nodes.len());
        for (place, node) in &nodes {
            let connection = join(&node.options, self.clock.clone());
            let connection = connection.map_err(|error| of_node(place, error))?;
            let found = find(place, connection.store(), &self.clock).await;
            let id = match &found {
                // Only the one who wrote it can mend that.
                Err(error) if error.kind() == ErrorKind::Invalid => return Err(error.clone()),
                Err(_) => None,
                Ok((_, id)) => Some(id),
            };
            // A server has one id, whatever its names.
            let same = |other: &&Opened<'_>| id.is_some() && other.id() == id;
            if let Some(twin) = opened.iter().find(same) {
                return Err(is_twin(place, twin.place));
            }
            opened.push(Opened {
                place,
                node,
                connection,
                found,
            });
        }
        enough(&opened, quorum)?;
        let pings = opened.iter().filter_map(|it| it.found.as_ref().ok());
        let slowest = pings.map(|(ping, _)| *ping).max();
        let usual = match self.timeout {
            Timeout::Fixed(timeout) => timeout,
            Timeout::Auto => COMMAND_TIMEOUT.max(slowest.unwrap_or_default() * 10),
        };
        let timeouts = nodes.iter().map(|(_, node)| node.timeout);
        let longest = timeouts.map(|own| own.unwrap_or(usual)).max();
        let rules = Rules::new(&self.wishes, nodes.len(), longest.unwrap_or(usual))?;
        let node = |opened: Opened<'_>| {
            let (place, options) = (opened.place, opened.node);
            let timeout = options.timeout.unwrap_or(usual);
            let clock = self.clock.clone();
            let durable = self.all_durable || options.durable;
            let node = Node::new(
                place.clone(),
                opened.connection,
                timeout,
                durable,
                rules.probe_max(),
                clock,
            );
            match opened.found {
                Ok((ping, id)) => {
                    warn_of_slowness(place, ping, timeout);
                    node.admit(id);
                }
                Err(error) => node.could_not(&error),
            }
            node
        };
        let nodes = opened.into_iter().map(node).collect();
        let combined = Combined::new(nodes, rules.clone(), SAFETY_LOOK, self.clock, runtime);
        Ok((combined, rules))
    }

    /// The nodes with their names for people.
    fn node_options(&self) -> Result<Vec<(String, NodeOptions)>> {
        let mut nodes: Vec<(String, NodeOptions)> = Vec::with_capacity(self.nodes.len());
        for (index, wanted) in self.nodes.iter().enumerate() {
            let place = format!("node {}", index + 1);
            let node = NodeOptions::parse(wanted).map_err(|error| of_node(&place, error))?;
            if let Some((twin, _)) = nodes.iter().find(|(_, other)| other.is_same_server(&node)) {
                return Err(is_twin(&place, twin));
            }
            nodes.push((format!("{place} ({})", node.url), node));
        }
        Ok(nodes)
    }
}

/// A node, and what it said when the lock was made: how long a PING takes, and
/// who it is.
struct Opened<'a> {
    place: &'a String,
    node: &'a NodeOptions,
    connection: ConnectionUse,
    found: Result<(Duration, String)>,
}

impl Opened<'_> {
    fn id(&self) -> Option<&String> {
        self.found.as_ref().ok().map(|(_, id)| id)
    }
}

async fn find(place: &str, store: &AnyHoldStore, clock: &Clock) -> Result<(Duration, String)> {
    let ping = slowest_ping(store, clock, place).await?;
    let id = match store.server() {
        Some(server) => server.server_id().await,
        None => Err(Error::invalid("a node is one server, not several")),
    };
    Ok((ping, id.map_err(|error| of_node(place, error))?))
}

/// Whether the lock could be won with those that can be used.
fn enough(opened: &[Opened<'_>], quorum: usize) -> Result<()> {
    let troubles: Vec<&Error> = opened
        .iter()
        .filter_map(|it| it.found.as_ref().err())
        .collect();
    let good = opened.len() - troubles.len();
    match troubles.first() {
        Some(first) if good < quorum => {
            let all: Vec<String> = troubles.iter().map(ToString::to_string).collect();
            let message = format!(
                "too few nodes: {quorum} of {} are needed and {good} can be used: {}",
                opened.len(),
                all.join("; ")
            );
            Err(Error::new(first.kind(), Outcome::DidNot)
                .with_retry(first.retry())
                .with_message(message)
                .with_source((*first).clone()))
        }
        _ => Ok(()),
    }
}

fn runtime() -> Result<Handle> {
    Handle::try_current()
        .map_err(|_| Error::wrong_state("a combination lock is built inside a tokio runtime"))
}
