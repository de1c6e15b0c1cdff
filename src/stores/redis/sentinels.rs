//! [`Sentinels`]: who is master in the eyes of most of them.
//!
//! A master that was replaced while it was cut off does not know it, and goes
//! on answering the clients that still reach it. So the sentinels are asked again and
//! again, and only what most of them say counts: any two majorities share a
//! sentinel, which names the new master once it has named it. A contender that
//! takes at the new master has therefore asked later than every owner that was
//! confirmed at the old one.
//!
//! Those of the URL are asked first. Where they are not enough, because the URL
//! names too few or some of them were replaced, those that they know are asked
//! as well, at the addresses by which they know them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, ProtocolVersion, RedisResult};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::config::Address;
use super::connect::{Connector, unreachable};
use super::error::fault;
use super::votes::{SentinelWord, Votes};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::sync::Mutex;

pub(super) struct Sentinels {
    /// Those of the URL.
    listed: Vec<Address>,
    /// The name of the master.
    master: String,
    /// Taken out while it is in use, so that one that hangs is not used again.
    connections: Mutex<HashMap<Address, MultiplexedConnection>>,
    named: watch::Sender<Option<Named>>,
    one_look_at_a_time: tokio::sync::Mutex<()>,
    /// How many sentinels those knew that decided last: one that has forgotten
    /// the others since then does not decide alone.
    floor: AtomicUsize,
    /// It has been told once that they do not say who they are.
    warned: AtomicBool,
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
        Self {
            listed: addresses.to_vec(),
            master: master.to_owned(),
            connections: Mutex::default(),
            named: watch::Sender::new(None),
            one_look_at_a_time: tokio::sync::Mutex::default(),
            floor: AtomicUsize::new(0),
            warned: AtomicBool::new(false),
        }
    }

    /// Whom most of them name, asked not before `since`; they have `limit` to
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
            return Ok(named); // Another call has just asked.
        }
        let asked_at = connector.clock.now();
        let is_decided = |votes: &Votes| votes.decided().is_some();
        let (votes, troubles) = self.ask_all(connector, limit, is_decided).await;
        self.warn_of_secrecy(&votes);
        let Some(address) = votes.decided().cloned() else {
            return Err(self.undecided(&votes, &troubles));
        };
        // Also a smaller number: it took a majority of the larger one.
        self.floor.store(votes.known(&address), Ordering::Relaxed);
        let named = Named { address, asked_at };
        self.named.send_replace(Some(named.clone()));
        Ok(named)
    }

    /// What all of them say, for a person to know. No caller waits for it: looks
    /// go on meanwhile.
    pub(super) async fn survey(
        self: &Arc<Self>,
        connector: &Connector,
        limit: Duration,
    ) -> (Votes, Vec<Error>) {
        self.ask_all(connector, limit, |_| false).await
    }

    /// How many the URL lists.
    pub(super) fn listed(&self) -> usize {
        self.listed.len()
    }

    /// Asks until it is `enough`, or there is none left to ask.
    async fn ask_all(
        self: &Arc<Self>,
        connector: &Connector,
        limit: Duration,
        enough: impl Fn(&Votes) -> bool,
    ) -> (Votes, Vec<Error>) {
        let floor = self.floor.load(Ordering::Relaxed);
        let (mut votes, mut troubles) = (Votes::of(&self.listed, floor), Vec::new());
        let mut questions = JoinSet::new();
        for address in &self.listed {
            questions.spawn(Arc::clone(self).ask_within(limit, address.clone(), connector.clone()));
        }
        // Those of the URL may be names for those that are heard of: first come
        // the URL's.
        let head_start = tokio::time::sleep(limit / 2);
        tokio::pin!(head_start);
        let mut is_ahead = true;
        while !enough(&votes) {
            let answer = tokio::select! {
                answer = questions.join_next() => answer,
                () = &mut head_start, if is_ahead => None,
            };
            match answer {
                Some(Ok((address, Ok(word)))) => votes.count(address, word),
                Some(Ok((_, Err(trouble)))) => troubles.push(trouble),
                Some(Err(_ended)) => {}
                None if is_ahead => {
                    is_ahead = false;
                    let others = votes.unasked();
                    self.forget_others(&others);
                    for address in others {
                        let (limit, connector) = (limit / 2, connector.clone());
                        questions.spawn(Arc::clone(self).ask_within(limit, address, connector));
                    }
                }
                None => break,
            }
        }
        (votes, troubles)
    }

    /// Connections to those that no sentinel knows any more are not kept.
    fn forget_others(&self, others: &[Address]) {
        let is_known = |at: &Address| self.listed.contains(at) || others.contains(at);
        self.connections
            .lock()
            .retain(|address, _| is_known(address));
    }

    /// Returns when another than `address` is known to be master.
    pub(super) async fn is_another(&self, address: &Address) {
        let mut named = self.named.subscribe();
        let other = |named: &Option<Named>| named.as_ref().is_some_and(|it| it.address != *address);
        if named.wait_for(other).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn ask_within(
        self: Arc<Self>,
        limit: Duration,
        address: Address,
        connector: Connector,
    ) -> (Address, Result<SentinelWord>) {
        let answer = tokio::time::timeout(limit, self.ask(&address, &connector)).await;
        let late = |_| Err(late(&address, limit));
        let answer = answer.unwrap_or_else(late);
        (address, answer)
    }

    async fn ask(&self, address: &Address, connector: &Connector) -> Result<SentinelWord> {
        let open = self.connections.lock().remove(address);
        let old = match open {
            Some(open) => self.question(&open).await.ok().map(|answer| (open, answer)),
            None => None,
        };
        let (open, answer) = match old {
            Some(answered) => answered,
            None => {
                let open = connect(connector, address).await?;
                let answer = self.question(&open).await.map_err(fault)?;
                (open, answer)
            }
        };
        self.connections.lock().insert(address.clone(), open);
        answer.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, Outcome::DidNot).with_message(format!(
                "the sentinel {address} knows no master {:?}; see \"sentinel monitor\" in its \
                 configuration",
                self.master
            ))
        })
    }

    /// Asks for all at once; `None` if it knows no such master.
    async fn question(&self, open: &MultiplexedConnection) -> RedisResult<Option<SentinelWord>> {
        let ask = |words: &[&str]| {
            let mut question = redis::cmd("SENTINEL");
            question.arg(words);
            question
        };
        let named = ask(&["get-master-addr-by-name", &self.master]);
        let (id, others) = (ask(&["myid"]), ask(&["sentinels", &self.master]));
        let (named, id, others) = tokio::join!(
            put::<Option<(String, u16)>>(open, &named),
            put::<String>(open, &id),
            put::<Vec<HashMap<String, String>>>(open, &others),
        );
        let Some((host, port)) = named? else {
            return Ok(None);
        };
        Ok(Some(SentinelWord {
            master: Address::Tcp(host, port),
            id: if_said(id)?,
            others: if_said(others)?.map(|all| all.iter().filter_map(sentinel).collect()),
        }))
    }

    /// Says once what a login may not ask: then only the URL says how many
    /// there are.
    fn warn_of_secrecy(&self, votes: &Votes) {
        if votes.is_partial() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the sentinels do not say who they are, or whom they know (+sentinel|myid, \
                 +sentinel|sentinels): the URL must list all of them"
            );
        }
    }

    pub(super) fn undecided(&self, votes: &Votes, troubles: &[Error]) -> Error {
        // What most of them complain of is the matter; otherwise it may pass.
        let most = troubles.iter().find(|trouble| {
            let same = |other: &&Error| other.kind() == trouble.kind();
            troubles.iter().filter(same).count() > self.listed.len() / 2
        });
        let named = votes.named();
        let agreed = named.values().max().copied().unwrap_or(0);
        let mut said: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        said.extend(
            named
                .iter()
                .map(|(who, number)| format!("{number} for {who}")),
        );
        let hint = if votes.all() > self.listed.len() {
            format!(" (the URL lists {}: it should list all)", self.listed.len())
        } else {
            String::new()
        };
        let message = format!(
            "{agreed} of the {} sentinels agree on who is master, and {} must{hint}: {}",
            votes.all(),
            votes.enough(),
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

async fn put<T: redis::FromRedisValue>(
    open: &MultiplexedConnection,
    question: &Cmd,
) -> RedisResult<T> {
    question.query_async(&mut open.clone()).await
}

/// What a sentinel says, if it says it: one that must not does not. But a
/// connection that broke is no answer.
fn if_said<T>(answer: RedisResult<T>) -> RedisResult<Option<T>> {
    match answer {
        Err(error) if error.is_unrecoverable_error() => Err(error),
        answer => Ok(answer.ok()),
    }
}

/// A sentinel as another describes it.
fn sentinel(fields: &HashMap<String, String>) -> Option<(String, Address)> {
    let id = fields.get("runid").filter(|id| !id.is_empty())?;
    let port = fields.get("port")?.parse().ok()?;
    let address = Address::Tcp(fields.get("ip")?.clone(), port);
    Some((id.clone(), address))
}

fn late(address: &Address, limit: Duration) -> Error {
    let who = format_args!("the sentinel {address}");
    Error::late(ErrorKind::Unreachable, who, limit, Outcome::DidNot)
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
