//! [`Sentinels`]: who is master in the eyes of most of them.
//!
//! A master that was replaced while it was cut off does not know it, and goes
//! on answering whoever still reaches it. So the sentinels are asked again and
//! again, and only what most of them say counts: any two majorities share a
//! sentinel, which names the new master once it has named it. Whoever takes at
//! the new master has therefore asked later than everybody who was confirmed
//! at the old one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::config::Address;
use super::connect::{Connector, unreachable};
use super::error::fault;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};

pub(super) struct Sentinels {
    all: Vec<Sentinel>,
    /// The name of the master.
    master: String,
    named: watch::Sender<Option<Named>>,
    one_look_at_a_time: tokio::sync::Mutex<()>,
}

struct Sentinel {
    address: Address,
    /// Taken out while it is in use, so that one that hangs is not used again.
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// Whom most of the sentinels named.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) address: Address,
    /// Read before the first of them was asked.
    pub(super) asked_at: Moment,
}

impl Sentinels {
    pub(super) fn new(addresses: &[Address], master: &str) -> Self {
        let sentinel = |address: &Address| Sentinel {
            address: address.clone(),
            connection: Mutex::default(),
        };
        Self {
            all: addresses.iter().map(sentinel).collect(),
            master: master.to_owned(),
            named: watch::Sender::new(None),
            one_look_at_a_time: tokio::sync::Mutex::default(),
        }
    }

    /// Whom most of them name, asked not before `since`; each has `limit` to
    /// answer.
    pub(super) async fn look(
        self: &Arc<Self>,
        connector: &Connector,
        since: Moment,
        limit: Duration,
    ) -> Result<Named> {
        let _one = self.one_look_at_a_time.lock().await;
        let known = self.named.borrow().clone();
        if let Some(named) = known.filter(|named| named.asked_at >= since) {
            return Ok(named); // Somebody has just asked.
        }
        let asked_at = connector.clock.now();
        let mut answers = JoinSet::new();
        for at in 0..self.all.len() {
            let (sentinels, connector) = (Arc::clone(self), connector.clone());
            answers.spawn(async move {
                let answer = sentinels.ask(at, &connector);
                let late = |_| Err(sentinels.late(at, limit));
                tokio::time::timeout(limit, answer)
                    .await
                    .unwrap_or_else(late)
            });
        }
        let mut votes: HashMap<Address, usize> = HashMap::new();
        let mut troubles = Vec::new();
        while let Some(answer) = answers.join_next().await {
            match answer {
                Ok(Ok(address)) => {
                    let number = votes.entry(address.clone()).or_default();
                    *number += 1;
                    if *number >= self.majority() {
                        let named = Named { address, asked_at };
                        self.named.send_replace(Some(named.clone()));
                        return Ok(named);
                    }
                }
                Ok(Err(trouble)) => troubles.push(trouble),
                Err(_ended) => {}
            }
        }
        Err(self.undecided(&votes, &troubles))
    }

    /// Returns when another than `address` is known to be master.
    pub(super) async fn is_another(&self, address: &Address) {
        let mut named = self.named.subscribe();
        let other = |named: &Option<Named>| named.as_ref().is_some_and(|it| it.address != *address);
        if named.wait_for(other).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn majority(&self) -> usize {
        self.all.len() / 2 + 1
    }

    async fn ask(&self, at: usize, connector: &Connector) -> Result<Address> {
        let Sentinel {
            address,
            connection,
        } = &self.all[at];
        let kept = || connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut question = redis::cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.master);
        let open = kept().take();
        let old = match open {
            Some(mut open) => question
                .query_async(&mut open)
                .await
                .ok()
                .map(|it| (open, it)),
            None => None,
        };
        let (open, answer): (_, Option<(String, u16)>) = match old {
            Some(answered) => answered,
            None => {
                let mut open = connect(connector, address).await?;
                let answer = question.query_async(&mut open).await.map_err(fault)?;
                (open, answer)
            }
        };
        *kept() = Some(open);
        let (host, port) = answer.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, Outcome::DidNot).with_message(format!(
                "the sentinel {address} knows no master {:?}; see \"sentinel monitor\" in its \
                 configuration",
                self.master
            ))
        })?;
        Ok(Address::Tcp(host, port))
    }

    fn late(&self, at: usize, limit: Duration) -> Error {
        let message = format!(
            "the sentinel {} did not answer within {limit:?}",
            self.all[at].address
        );
        Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(message)
    }

    fn undecided(&self, votes: &HashMap<Address, usize>, troubles: &[Error]) -> Error {
        // What most of them complain of is the matter; otherwise it may pass.
        let most = troubles.iter().find(|trouble| {
            let same = |other: &&Error| other.kind() == trouble.kind();
            troubles.iter().filter(same).count() >= self.majority()
        });
        let agreed = votes.values().max().copied().unwrap_or(0);
        let mut said: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        said.extend(
            votes
                .iter()
                .map(|(who, number)| format!("{number} for {who}")),
        );
        let message = format!(
            "{agreed} of the {} sentinels agree on who is master, and {} must: {}",
            self.all.len(),
            self.majority(),
            said.join("; ")
        );
        match most {
            Some(trouble) => Error::new(trouble.kind(), Outcome::DidNot)
                .with_retry(trouble.retry())
                .with_message(message)
                .with_source(trouble.clone()),
            None => Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(message),
        }
    }
}

async fn connect(connector: &Connector, sentinel: &Address) -> Result<MultiplexedConnection> {
    let login = &connector.config.sentinel_login;
    let client = connector.client(sentinel, login, ProtocolVersion::RESP2)?;
    let settings = AsyncConnectionConfig::new().set_response_timeout(None);
    let connection = client.get_multiplexed_async_connection_with_config(&settings);
    connection
        .await
        .map_err(|error| unreachable(sentinel, error))
}
