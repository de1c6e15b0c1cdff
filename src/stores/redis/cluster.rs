//! A Redis Cluster: which server has which slot, and following its moves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use tokio::sync::Notify;

use super::config::Address;
use super::connect::{Connector, Route};
use super::fault::nonsense;
use super::keys;
use super::scripts::Call;
use super::server::{Manner, Redirect, Said, Server};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// How often a call follows a redirection, or comes again while a slot moves.
/// The caller's own limit usually ends it before.
const TRIES: usize = 200;

/// The pause before a call comes again while its slot moves.
const MOVING: Duration = Duration::from_millis(25);

pub(super) struct Cluster {
    connector: Connector,
    seeds: Vec<Address>,
    servers: Mutex<HashMap<Address, Arc<Server>>>,
    map: Mutex<Vec<Share>>,
    pub(super) moved: Notify,
    refreshing: tokio::sync::Mutex<()>,
}

/// The slots from first to last, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Share {
    first: u16,
    last: u16,
    master: Address,
}

impl Cluster {
    pub(super) fn new(connector: Connector, seeds: Vec<Address>) -> Self {
        Self {
            connector,
            seeds,
            servers: Mutex::default(),
            map: Mutex::default(),
            moved: Notify::new(),
            refreshing: tokio::sync::Mutex::new(()),
        }
    }

    fn map(&self) -> MutexGuard<'_, Vec<Share>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Address, Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self, address: &Address) -> Arc<Server> {
        let mut all = self.servers();
        let known = all.entry(address.clone()).or_insert_with(|| {
            Server::start(self.connector.clone(), Route::Fixed(address.clone()))
        });
        Arc::clone(known)
    }

    /// The server that has the slot of `key`, as last heard.
    pub(super) fn master_of(&self, key: &str) -> Option<Address> {
        let slot = keys::slot(key);
        let map = self.map();
        let share = map.iter().find(|s| (s.first..=s.last).contains(&slot));
        share.map(|share| share.master.clone())
    }

    pub(super) fn server_of(&self, key: &str) -> Option<Arc<Server>> {
        self.master_of(key).map(|address| self.server(&address))
    }

    pub(super) fn masters(&self) -> Vec<Arc<Server>> {
        let mut masters: Vec<Address> = self.map().iter().map(|s| s.master.clone()).collect();
        masters.sort_by_key(ToString::to_string);
        masters.dedup();
        masters.iter().map(|address| self.server(address)).collect()
    }

    pub(super) fn close(&self) {
        self.servers().values().for_each(|server| server.close());
    }

    /// Asks who has which slot, of whoever answers first.
    pub(super) async fn refresh(&self) -> Result<()> {
        let before = self.map().clone();
        let _one_at_a_time = self.refreshing.lock().await;
        if *self.map() != before {
            return Ok(()); // Somebody was faster.
        }
        let mut known: Vec<Address> = self.servers().keys().cloned().collect();
        known.extend(self.seeds.iter().cloned());
        let mut last = None;
        for address in known {
            match self.ask_map(&address).await {
                Ok(map) => {
                    self.forget_others(&map);
                    let changed = *self.map() != map;
                    *self.map() = map;
                    if changed {
                        self.moved.notify_one();
                    }
                    return Ok(());
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| nonsense("no node to ask")))
    }

    async fn ask_map(&self, address: &Address) -> Result<Vec<Share>> {
        let server = self.server(address);
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let limit = self.connector.config.probe_limit;
        let answer = tokio::time::timeout(limit, server.ask(&question)).await;
        let answer = answer.map_err(|_| {
            Error::new(ErrorKind::Timeout, Outcome::DidNot)
                .with_message(format!("{address} did not answer within {limit:?}"))
        })??;
        shares(&answer, address).ok_or_else(|| nonsense("CLUSTER SLOTS without slots"))
    }

    /// Servers that have no slots any more are not kept connected.
    fn forget_others(&self, map: &[Share]) {
        self.servers()
            .retain(|address, _| map.iter().any(|share| share.master == *address));
    }

    /// Calls a script where its key lies, following redirections.
    pub(super) async fn run(&self, call: &Call, manner: Manner) -> Result<Value> {
        let mut asked: Option<Address> = None;
        for _ in 0..TRIES {
            let asking = asked.is_some();
            let address = match asked.take() {
                Some(address) => address,
                None => match self.master_of(&call.key) {
                    Some(address) => address,
                    None => {
                        self.refresh().await?;
                        self.master_of(&call.key).ok_or_else(uncovered)?
                    }
                },
            };
            let manner = Manner { asking, ..manner };
            match self.server(&address).run(call, manner).await {
                Ok(Said::Answer(answer)) => return Ok(answer),
                Ok(Said::Redirect(redirect)) => {
                    asked = self.follow(&address, redirect, call).await?;
                }
                Err(error) => {
                    if error.kind() == ErrorKind::Unreachable {
                        // Perhaps another has its slots by now; next time.
                        let _ = self.refresh().await;
                    }
                    return Err(error);
                }
            }
        }
        Err(Error::new(ErrorKind::Store, Outcome::DidNot)
            .with_message("the cluster sends us from node to node: a slot is being moved"))
    }

    /// Whom to ask once, out of turn.
    async fn follow(&self, from: &Address, to: Redirect, call: &Call) -> Result<Option<Address>> {
        // An empty host is the one that answered.
        let place = |host: String, port| match (host.is_empty(), from) {
            (true, Address::Tcp(host, _)) => Address::Tcp(host.clone(), port),
            _ => Address::Tcp(host, port),
        };
        match to {
            Redirect::Ask(host, port) => Ok(Some(place(host, port))),
            Redirect::Moved(host, port) => {
                let master = place(host, port);
                if self.refresh().await.is_err()
                    || self.master_of(&call.key) != Some(master.clone())
                {
                    self.assign(keys::slot(&call.key), master);
                }
                Ok(None)
            }
            Redirect::TryAgain => {
                tokio::time::sleep(MOVING).await;
                Ok(None)
            }
        }
    }

    /// Believes a MOVED until the next refresh.
    fn assign(&self, slot: u16, master: Address) {
        self.map().insert(
            0,
            Share {
                first: slot,
                last: slot,
                master,
            },
        );
        self.moved.notify_one();
    }
}

fn uncovered() -> Error {
    Error::new(ErrorKind::Store, Outcome::DidNot)
        .with_message("no node of the cluster has the slot of this mutex")
}

/// The shares in the answer to CLUSTER SLOTS.
fn shares(answer: &Value, asked: &Address) -> Option<Vec<Share>> {
    let Value::Array(rows) = answer else {
        return None;
    };
    let share = |row: &Value| {
        let Value::Array(row) = row else { return None };
        let [
            Value::Int(first),
            Value::Int(last),
            Value::Array(master),
            ..,
        ] = row.as_slice()
        else {
            return None;
        };
        let [host, Value::Int(port), ..] = master.as_slice() else {
            return None;
        };
        let host = match host {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
            // Unknown to itself: where we reached it.
            _ => match asked {
                Address::Tcp(host, _) => host.clone(),
                Address::Unix(_) => return None,
            },
        };
        Some(Share {
            first: u16::try_from(*first).ok()?,
            last: u16::try_from(*last).ok()?,
            master: Address::Tcp(host, u16::try_from(*port).ok()?),
        })
    };
    let shares: Vec<Share> = rows.iter().map(share).collect::<Option<_>>()?;
    (!shares.is_empty()).then_some(shares)
}
