//! [`Servers`]: the servers behind a URL, one or a cluster.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use super::cluster::Cluster;
use super::config::Topology;
use super::connect::{Connector, Route};
use super::error::nonsense;
use super::scripts::Call;
use super::server::{Manner, Redirect, Said, Server};
use super::subscriber::Places;
use super::watch::wire_name;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};

pub(super) enum Servers {
    One(Arc<Server>, Route),
    Cluster(Box<Cluster>),
}

impl Servers {
    /// Connects, and fails if that fails.
    pub(super) async fn open(connector: &Connector) -> Result<Self> {
        let route = match &connector.config.topology {
            Topology::Single(address) => Route::Fixed(address.clone()),
            Topology::Sentinel { .. } => Route::Master,
            Topology::Cluster(seeds) => {
                let cluster = Cluster::new(connector.clone(), seeds.clone());
                cluster.refresh().await?;
                return Ok(Self::Cluster(Box::new(cluster)));
            }
        };
        let server = Server::start(connector.clone(), route.clone());
        server.connected().await?;
        Ok(Self::One(server, route))
    }

    /// Begins to connect to one server, and does not wait for it.
    pub(super) fn begin(connector: &Connector) -> Result<Self> {
        let Topology::Single(address) = &connector.config.topology else {
            return Err(Error::invalid("this needs the URL of one Redis server"));
        };
        let route = Route::Fixed(address.clone());
        let server = Server::start(connector.clone(), route.clone());
        Ok(Self::One(server, route))
    }

    /// Calls the script of a take, which `say` puts into words by what the server's
    /// clock is reckoned to show at `now`. Answers that, too.
    pub(super) async fn take(
        &self,
        manner: &Manner,
        now: Moment,
        say: impl FnOnce(Option<u64>) -> Call,
    ) -> Result<(Value, Option<u64>)> {
        match self {
            Self::One(server, _) => {
                let (said, reckoned) = server.take(manner, now, say).await?;
                Ok((answered(said)?, reckoned))
            }
            // Where it goes in the end is not known before: another server has
            // another clock.
            Self::Cluster(cluster) => {
                let call = say(None);
                Ok((Box::pin(cluster.run(&call, manner)).await?, None))
            }
        }
    }

    /// Calls a script.
    pub(super) async fn run(&self, call: &Call, manner: &Manner) -> Result<Value> {
        match self {
            Self::One(server, _) => answered(server.run(call, manner).await?),
            // In a box, as all that is not the usual way: the future of a call is
            // as large as its largest way, and is moved when it is made.
            Self::Cluster(cluster) => Box::pin(cluster.run(call, manner)).await,
        }
    }

    /// How to call what makes or extends an ownership: only where the
    /// sentinels, or the masters of a cluster, say that it counts. Answers when
    /// they were asked, too, which is not before `since`.
    pub(super) async fn confirmed(
        &self,
        since: Moment,
        limit: Duration,
    ) -> Result<(Manner, Option<Moment>)> {
        let mut manner = Manner::default();
        let asked_at = match self {
            Self::One(server, _) => {
                let named = server.confirm(since, limit).await?;
                let asked_at = named.as_ref().map(|named| named.asked_at);
                manner.master = named.map(|named| named.address);
                asked_at
            }
            Self::Cluster(cluster) => {
                let seen = Box::pin(cluster.look(since, limit)).await?;
                let asked_at = seen.asked_at;
                manner.seen = Some(seen);
                Some(asked_at)
            }
        };
        Ok((manner, asked_at))
    }

    /// The server for `key`, where it is known.
    fn server_for(&self, key: &str) -> Option<Arc<Server>> {
        match self {
            Self::One(server, _) => Some(Arc::clone(server)),
            Self::Cluster(cluster) => cluster.server_of(key),
        }
    }

    /// Calls a script and waits for replicas if its answer `counts`; answers
    /// how many have it.
    pub(super) async fn run_and_wait(
        &self,
        call: &Call,
        manner: &Manner,
        counts: impl Fn(&Value) -> bool,
        replicas: u32,
        limit: Duration,
    ) -> Result<(Value, u64)> {
        // Once more where the slot is by now.
        for _ in 0..2 {
            let Some(server) = self.server_for(&call.key) else {
                break;
            };
            let waited = server.run_and_wait(call, manner, &counts, replicas, limit);
            match waited.await {
                Ok((Said::Answer(answer), number)) => {
                    if let (Self::Cluster(cluster), Route::Fixed(address)) = (self, server.route())
                    {
                        cluster.check(call, manner, address)?;
                    }
                    return Ok((answer, number));
                }
                Ok((Said::Redirect(Redirect::Moved(..) | Redirect::Down), _)) => {
                    self.look_around().await;
                }
                Ok((Said::Redirect(_), _)) => break,
                Err(error) => {
                    if error.kind() == ErrorKind::Unreachable {
                        self.look_around().await;
                    }
                    return Err(error);
                }
            }
        }
        // A slot on the move: the caller tries again when it has settled.
        let answer = self.run(call, manner).await?;
        Ok((answer, 0))
    }

    /// Asks who has which slot now.
    async fn look_around(&self) {
        if let Self::Cluster(cluster) = self {
            // Failing that, the next call finds out.
            let _ = cluster.refresh().await;
        }
    }

    /// Every server that has keys.
    pub(super) fn masters(&self) -> Vec<Arc<Server>> {
        match self {
            Self::One(server, _) => vec![Arc::clone(server)],
            Self::Cluster(cluster) => cluster.masters(),
        }
    }

    /// Asks any one server.
    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value> {
        match self.masters().first() {
            Some(server) => server.ask(command).await,
            None => Err(nonsense("no server is known")),
        }
    }

    pub(super) fn close(&self) {
        match self {
            Self::One(server, _) => server.close(),
            Self::Cluster(cluster) => cluster.close(),
        }
    }
}

/// What one server said that is no cluster's.
fn answered(said: Said) -> Result<Value> {
    match said {
        Said::Answer(answer) => Ok(answer),
        Said::Redirect(to) => Err(nonsense(format!(
            "{to:?}: this server is part of a cluster; use redis+cluster://"
        ))),
    }
}

impl Places for Servers {
    fn place(&self, channel: &str) -> Option<Route> {
        match self {
            Self::One(_, route) => Some(route.clone()),
            Self::Cluster(cluster) => {
                let (channel, _) = wire_name(channel);
                cluster.master_of(channel).map(Route::Fixed)
            }
        }
    }

    fn is_there(&self, route: &Route) -> bool {
        match (self, route) {
            (Self::Cluster(cluster), Route::Fixed(address)) => cluster.has(address),
            _ => true,
        }
    }

    async fn moved(&self) {
        match self {
            Self::One(..) => std::future::pending().await,
            Self::Cluster(cluster) => cluster.moved.notified().await,
        }
    }
}
