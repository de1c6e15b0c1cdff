//! Keeps the subscriptions of a client where they belong: one connection per
//! server, opened with the first listener there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connect::{Connector, Purpose, Route};
use super::connection::{Connection, ConnectionState, LiveConnection};
use super::watch::Registry;
use crate::error::{ErrorKind, Result};
use crate::sync::Mutex;

/// How often a connection with subscriptions is asked whether it lives: it
/// would not notice a half-open flow by itself.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// At most this many channels in one command.
const BATCH: usize = 500;

/// Says where a channel is to be subscribed.
pub(super) trait Places: Send + Sync + 'static {
    /// The server for `channel`; `None` while it is not known.
    fn place(&self, channel: &str) -> Option<Route>;

    /// Whether anything can ever be subscribed there again.
    fn is_there(&self, route: &Route) -> bool;

    /// Returns when places may have changed.
    fn moved(&self) -> impl Future<Output = ()> + Send;
}

/// Channels by name, each with its number in the registry.
type Numbered = HashMap<String, u64>;

/// The subscriptions at one server.
#[derive(Default)]
struct Post {
    wanted: Mutex<Numbered>,
    changed: Notify,
}

impl Post {
    fn set(&self, channel: &str, wanted: Option<u64>) {
        match wanted {
            Some(number) => self.wanted.lock().insert(channel.to_owned(), number),
            None => self.wanted.lock().remove(channel),
        };
        self.changed.notify_one();
    }
}

/// Assigns every wanted channel to its server, until `end`.
pub(super) async fn run(
    registry: Arc<Registry>,
    connector: Connector,
    places: Arc<impl Places>,
    end: CancellationToken,
) {
    let mut posts: HashMap<String, Arc<Post>> = HashMap::new();
    // Of each post: where it is, and what ends it.
    let mut ends: HashMap<String, (Route, DropGuard)> = HashMap::new();
    let mut assigned: HashMap<String, String> = HashMap::new();
    let mut homeless: HashSet<String> = HashSet::new();
    loop {
        let retry = async {
            if homeless.is_empty() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let mut again: HashSet<String> = tokio::select! {
            () = end.cancelled() => return,
            () = registry.changed.notified() => registry.take_dirty(),
            () = places.moved() => registry.wanted().into_iter().collect(),
            () = retry => HashSet::new(),
        };
        again.extend(homeless.drain());
        for channel in again {
            let wanted = registry.wants(&channel).is_some();
            let route = wanted.then(|| places.place(&channel)).flatten();
            let key = route.as_ref().map(|route| format!("{route:?}"));
            let before = assigned.get(&channel);
            if before != key.as_ref()
                && let Some(post) = before.and_then(|key| posts.get(key))
            {
                post.set(&channel, None);
                assigned.remove(&channel);
                registry.displace(&channel);
            }
            let (Some(route), Some(key)) = (route, key) else {
                if wanted {
                    homeless.insert(channel);
                }
                continue;
            };
            // Left since: that is the next thing to look at.
            let Some(number) = registry.wants(&channel) else {
                continue;
            };
            let post = posts.entry(key.clone()).or_insert_with(|| {
                let post = Arc::new(Post::default());
                let (registry, connector) = (Arc::clone(&registry), connector.clone());
                let work = tend(Arc::clone(&post), registry, connector, route.clone());
                let end = end.child_token();
                ends.insert(key.clone(), (route, end.clone().drop_guard()));
                tokio::spawn(async move { end.run_until_cancelled(work).await });
                post
            });
            post.set(&channel, Some(number));
            assigned.insert(channel, key);
        }
        // A server that has left is not to be reached for ever.
        ends.retain(|key, (route, _)| {
            let stays = places.is_there(route) || assigned.values().any(|at| at == key);
            if !stays {
                posts.remove(key);
            }
            stays
        });
    }
}

/// Keeps what is subscribed at one server in step with what is wanted there.
async fn tend(post: Arc<Post>, registry: Arc<Registry>, connector: Connector, route: Route) {
    let ear = Arc::clone(&registry);
    let hear = Arc::new(move |push: &redis::PushInfo| ear.hear(push));
    let connection = Connection::start(connector.clone(), route.clone(), Purpose::Push, hear);
    let mut states = connection.states();
    states.mark_changed();
    let mut alive = tokio::time::interval(KEEP_ALIVE);
    let mut post = Subscribed {
        post,
        registry,
        live: None,
        subscribed: Numbered::new(),
        cut_off: HashSet::new(),
    };
    loop {
        tokio::select! {
            changed = states.changed() => {
                let state = states.borrow_and_update().clone();
                if changed.is_err() || !post.follow(state) {
                    return;
                }
            }
            () = post.post.changed.notified() => {}
            _ = alive.tick() => {
                if post.live.is_some() {
                    look_around(&connector, &route);
                }
                post.check(&connection).await;
            }
        }
        post.sync(&connection).await;
    }
}

/// A listener asks the servers nothing, and would go on listening to a master
/// that was replaced while it was cut off. The connection follows what is found.
fn look_around(connector: &Connector, route: &Route) {
    let (Route::Master, Some(sentinels)) = (route, connector.sentinels.clone()) else {
        return;
    };
    let connector = connector.clone();
    tokio::spawn(async move {
        let since = connector.clock.now() - KEEP_ALIVE / 2;
        let limit = connector.config.probe_limit;
        // Not knowing changes nothing for those who listen.
        let _ = sentinels.look(&connector, since, limit).await;
    });
}

struct Subscribed {
    post: Arc<Post>,
    registry: Arc<Registry>,
    live: Option<Arc<LiveConnection>>,
    /// What the server sends, and for whom that was confirmed.
    subscribed: Numbered,
    /// Was subscribed on an earlier connection: may have missed something.
    cut_off: HashSet<String>,
}

impl Subscribed {
    /// False when the connection has ended.
    fn follow(&mut self, state: ConnectionState) -> bool {
        let before = self.live.as_ref().map(|live| live.generation);
        self.live = match state {
            ConnectionState::Closed => return false,
            ConnectionState::Up(live) if Some(live.generation) == before => return true,
            ConnectionState::Up(live) => Some(live),
            ConnectionState::Connecting | ConnectionState::Down(_) => None,
        };
        // Subscriptions end with their connection, and what was published in
        // between is not sent again.
        let lost: Vec<String> = self.subscribed.drain().map(|(name, _)| name).collect();
        self.registry.suspend(&lost);
        self.cut_off.extend(lost);
        true
    }

    async fn check(&self, connection: &Connection) {
        let Some(live) = self.live.as_ref().filter(|_| !self.subscribed.is_empty()) else {
            return;
        };
        // Its supervisor watches how long this takes.
        let _ = connection.ask_on(live, &redis::cmd("PING")).await;
    }

    async fn sync(&mut self, connection: &Connection) {
        let Some(live) = self.live.clone() else {
            if matches!(*connection.states().borrow(), ConnectionState::Down(_)) {
                // A bid must not wait to be heard by a server that is not there.
                let all: Vec<String> = self.post.wanted.lock().keys().cloned().collect();
                self.registry.refuse(&all);
            }
            return;
        };
        let work = Work::between(&self.post.wanted.lock(), &self.subscribed);
        for names in work.remove.chunks(BATCH) {
            if connection.subscribe(&live, names, false).await.is_err() {
                return;
            }
            self.subscribed.retain(|name, _| !names.contains(name));
        }
        // Opened again before anything was undone: it is heard all the time.
        self.subscribed.extend(work.known.iter().cloned());
        self.registry.confirm(&work.known, false);
        for channels in work.add.chunks(BATCH) {
            if self.subscribe(connection, &live, channels).await.is_err() {
                return;
            }
        }
        let wanted = self.post.wanted.lock();
        self.cut_off.retain(|name| wanted.contains_key(name));
    }

    async fn subscribe(
        &mut self,
        connection: &Connection,
        live: &LiveConnection,
        channels: &[(String, u64)],
    ) -> Result<()> {
        let names: Vec<String> = channels.iter().map(|(name, _)| name.clone()).collect();
        match connection.subscribe(live, &names, true).await {
            Ok(()) => {
                self.subscribed.extend(channels.iter().cloned());
                let (resumed, new): (Vec<_>, Vec<_>) = channels
                    .iter()
                    .cloned()
                    .partition(|(name, _)| self.cut_off.remove(name));
                self.registry.confirm(&new, false);
                self.registry.confirm(&resumed, true);
                Ok(())
            }
            Err(error) => {
                if error.kind() == ErrorKind::Denied {
                    // Waiters still look now and then; tried again at the next
                    // keep-alive.
                    tracing::warn!(%error, "wake-ups cannot be heard");
                    self.registry.refuse(&names);
                }
                Err(error)
            }
        }
    }
}

/// What is to be done about the subscriptions at one server.
#[derive(Debug, Default, PartialEq, Eq)]
struct Work {
    add: Vec<(String, u64)>,
    /// Subscribed for a listener that has left, and wanted by another.
    known: Vec<(String, u64)>,
    remove: Vec<String>,
}

impl Work {
    fn between(wanted: &Numbered, subscribed: &Numbered) -> Self {
        let mut work = Self::default();
        for (name, number) in wanted {
            let channel = (name.clone(), *number);
            match subscribed.get(name) {
                None => work.add.push(channel),
                Some(before) if before != number => work.known.push(channel),
                Some(_) => {}
            }
        }
        let left = subscribed.keys().filter(|name| !wanted.contains_key(*name));
        work.remove = left.cloned().collect();
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_was_opened_again_is_not_subscribed_again() {
        let numbered = |all: &[(&str, u64)]| {
            let owned = all
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number));
            owned.collect::<Numbered>()
        };
        let subscribed = numbered(&[("stays", 1), ("again", 2), ("leaves", 3)]);
        let wanted = numbered(&[("stays", 1), ("again", 7), ("new", 8)]);
        let work = Work::between(&wanted, &subscribed);
        assert_eq!(work.add, [("new".to_owned(), 8)]);
        assert_eq!(work.known, [("again".to_owned(), 7)]);
        assert_eq!(work.remove, ["leaves"]);
        assert_eq!(Work::between(&subscribed, &subscribed), Work::default());
    }
}
