//! A Redis Cluster: which server has which slot, and following its moves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use redis::{FromRedisValue as _, Value};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::config::Address;
use super::connect::{Connector, Route, field};
use super::error::nonsense;
use super::keys;
use super::scripts::Call;
use super::server::{Manner, Redirect, Said, Server};
use super::slots::{
    NodeWord, Share, agreed, assign, flatten, is_whole, masters, may_speak, owner_of, word,
};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::sync::Mutex;

/// How often a call follows a redirection, or comes again while a slot moves.
/// The caller's own limit usually ends it before.
const TRIES: usize = 200;

/// The pause before a call comes again while its slot moves.
const MOVING: Duration = Duration::from_millis(25);

/// The pause before a node that says that the cluster is down is asked again.
const DOWN: Duration = Duration::from_millis(100);

pub(super) struct Cluster {
    connector: Connector,
    seeds: Vec<Address>,
    servers: Mutex<HashMap<Address, Arc<Server>>>,
    /// Whom to ask for which slot, as last heard; also from one alone.
    map: Mutex<Vec<Share>>,
    /// The masters that are asked: those of the last map that most agreed on.
    voters: Mutex<Vec<Address>>,
    /// What most masters said when they were last asked.
    seen: Mutex<Option<Seen>>,
    pub(super) moved: Notify,
    one_look_at_a_time: tokio::sync::Mutex<()>,
}

/// What most of the masters say.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    shares: Arc<Vec<Share>>,
    /// Read before the first of them was asked.
    pub(super) asked_at: Moment,
}

/// What there is for and against those who answer.
struct Weight {
    /// How many nodes they name.
    named: usize,
    /// How many names of others are missing.
    missing: usize,
    /// How many servers that is at least: a URL may have another name for a
    /// server than the cluster has.
    fewest: usize,
}

impl Seen {
    /// Whether they say that `master` has the slot of `key`.
    pub(super) fn confirms(&self, key: &str, master: &Address) -> bool {
        owner_of(&self.shares, keys::slot(key)) == Some(master)
    }
}

impl Cluster {
    pub(super) fn new(connector: Connector, seeds: Vec<Address>) -> Self {
        Self {
            connector,
            seeds,
            servers: Mutex::default(),
            map: Mutex::default(),
            voters: Mutex::default(),
            seen: Mutex::default(),
            moved: Notify::new(),
            one_look_at_a_time: tokio::sync::Mutex::new(()),
        }
    }

    fn server(&self, address: &Address) -> Arc<Server> {
        let mut all = self.servers.lock();
        let known = all.entry(address.clone()).or_insert_with(|| {
            Server::start(self.connector.clone(), Route::Fixed(address.clone()))
        });
        Arc::clone(known)
    }

    /// The server that has the slot of `key`, as last heard.
    pub(super) fn master_of(&self, key: &str) -> Option<Address> {
        owner_of(&self.map.lock(), keys::slot(key)).cloned()
    }

    pub(super) fn server_of(&self, key: &str) -> Option<Arc<Server>> {
        self.master_of(key).map(|address| self.server(&address))
    }

    pub(super) fn masters(&self) -> Vec<Arc<Server>> {
        let masters = masters(&self.map.lock());
        masters.iter().map(|address| self.server(address)).collect()
    }

    pub(super) fn close(&self) {
        self.servers
            .lock()
            .values()
            .for_each(|server| server.close());
    }

    /// Whether a master is at `address`, as last heard.
    pub(super) fn has(&self, address: &Address) -> bool {
        self.map.lock().iter().any(|share| share.master == *address)
    }

    /// Asks who has which slot.
    pub(super) async fn refresh(&self) -> Result<()> {
        let limit = self.connector.config.probe_limit;
        let looked = self.look(self.connector.clock.now(), limit).await;
        looked.map(drop).or_else(|error| {
            // Without most of them, what one said must do.
            let none = self.map.lock().is_empty();
            if none { Err(error) } else { Ok(()) }
        })
    }

    /// Who has which slot in the eyes of most masters, asked not before
    /// `since`. A master that was replaced while it was cut off does not know
    /// it, and answers for a while.
    pub(super) async fn look(&self, since: Moment, limit: Duration) -> Result<Seen> {
        let _one = self.one_look_at_a_time.lock().await;
        let known = self.seen.lock().clone();
        if let Some(seen) = known.filter(|seen| seen.asked_at >= since) {
            return Ok(seen); // Another call has just asked.
        }
        let asked_at = self.connector.clock.now();
        let mut asked = self.voters.lock().clone();
        let mut answers = self.ask_all(&asked, limit / 2).await;
        // Too few of those we knew, or none yet: others may have their slots.
        if asked.is_empty() || answers.len() <= asked.len() / 2 {
            // All that follows has what is left of the limit.
            let left = || limit.saturating_sub(self.connector.clock.now().since(asked_at));
            let told = self.ask_around(&asked, &answers, left() / 2).await?;
            let shares: Vec<Share> = told.iter().flat_map(|word| word.shares.clone()).collect();
            asked = masters(&shares);
            self.adopt(flatten(&told[0].shares));
            answers = self.ask_all(&asked, left()).await;
            let weight = self.weigh(&told, &answers);
            self.check_weight(&asked, &weight, left()).await?;
        }
        let enough = asked.len() / 2 + 1;
        let shares = agreed(&answers, enough);
        if shares.is_empty() {
            return Err(undecided(answers.len(), enough, asked.len()));
        }
        let mut map = shares.clone();
        if !is_whole(&map) {
            // Where they differ, a server has to be asked all the same.
            map.extend(answers.into_iter().flat_map(|word| word.shares));
            map = flatten(&map);
        }
        // What is not agreed on is what one of them told: it names no voters.
        let is_agreed = is_whole(&shares);
        *self.voters.lock() = if is_agreed { masters(&shares) } else { asked };
        self.adopt(map);
        let seen = Seen {
            shares: Arc::new(shares),
            asked_at,
        };
        *self.seen.lock() = Some(seen.clone());
        Ok(seen)
    }

    fn adopt(&self, map: Vec<Share>) {
        self.forget_others(&map);
        let changed = *self.map.lock() != map;
        *self.map.lock() = map;
        if changed {
            self.moved.notify_one();
        }
    }

    /// The maps of those who answer, until most agree on every slot.
    async fn ask_all(&self, addresses: &[Address], limit: Duration) -> Vec<NodeWord> {
        let mut questions = JoinSet::new();
        for address in addresses {
            let (server, address) = (self.server(address), address.clone());
            questions.spawn(async move { ask_map(&server, &address, limit).await });
        }
        let (mut answers, enough) = (Vec::new(), addresses.len() / 2 + 1);
        while let Some(answer) = questions.join_next().await {
            answers.extend(answer.ok().and_then(Result::ok));
            if answers.len() >= enough && is_whole(&agreed(&answers, enough)) {
                break;
            }
        }
        answers
    }

    /// Where else the cluster may be known: the nodes of the URL, those in use,
    /// and the masters of before.
    fn others(&self) -> Vec<Address> {
        let mut others = self.seeds.clone();
        others.extend(self.servers.lock().keys().cloned());
        others.extend(self.voters.lock().iter().cloned());
        others.sort_by_key(ToString::to_string);
        others.dedup();
        others
    }

    /// What all others say, beside the `answers` there are: what one says alone
    /// may be the word of a node that was reset, and names itself only. Those
    /// who were `asked` have had their time.
    async fn ask_around(
        &self,
        asked: &[Address],
        answers: &[NodeWord],
        limit: Duration,
    ) -> Result<Vec<NodeWord>> {
        let others: Vec<Address> = self.others();
        let new = |at: &&Address| !asked.contains(at);
        let unheard: Vec<Address> = others.iter().filter(new).cloned().collect();
        let mut told = self.ask_all(&unheard, limit).await;
        told.extend(answers.iter().cloned());
        if !told.is_empty() {
            return Ok(told);
        }
        // Why not: one of them says it.
        match others.first() {
            Some(address) => {
                let why = ask_map(&self.server(address), address, limit).await;
                why.map(|word| vec![word])
            }
            None => Err(nonsense("no node to ask")),
        }
    }

    /// Who is named by those who answer, and which nodes of the URL and masters
    /// of before neither answer nor are named.
    fn weigh(&self, told: &[NodeWord], answers: &[NodeWord]) -> Weight {
        let said = || told.iter().chain(answers);
        let named: HashSet<&Address> = said().flat_map(|word| &word.nodes).collect();
        let answered: HashSet<&Address> = said().map(|word| &word.by).collect();
        let is_away = |at: &&Address| !named.contains(at) && !answered.contains(at);
        let voters = self.voters.lock();
        let listed: HashSet<&Address> = self.seeds.iter().filter(is_away).collect();
        let before: HashSet<&Address> = voters.iter().filter(is_away).collect();
        Weight {
            named: named.len(),
            missing: listed.union(&before).count(),
            fewest: listed.len().max(before.len()),
        }
    }

    /// Whether those who answer speak for the cluster. Those who are down are
    /// not named; but the only master, if it is that of a cluster, knows them.
    async fn check_weight(
        &self,
        asked: &[Address],
        weight: &Weight,
        limit: Duration,
    ) -> Result<()> {
        if may_speak(asked.len(), weight.named, weight.missing) {
            return Ok(());
        }
        let known = match asked {
            [only] => ask_known(&self.server(only), limit).await,
            _ => None,
        };
        match known {
            Some(known) if may_speak(1, known, weight.fewest) => Ok(()),
            _ => Err(alone(weight.named, weight.missing)),
        }
    }

    /// Servers that have no slots any more are not kept connected.
    fn forget_others(&self, map: &[Share]) {
        self.servers
            .lock()
            .retain(|address, _| map.iter().any(|share| share.master == *address));
    }

    /// Calls a script where its key lies, following redirections.
    pub(super) async fn run(&self, call: &Call, manner: &Manner) -> Result<Value> {
        let mut asked: Option<Address> = None;
        // Who answers in its own name, or has sent us to the one who does.
        let mut authority: Option<Address> = None;
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
            let manner = Manner {
                asking,
                ..manner.clone()
            };
            match self.server(&address).run(call, &manner).await {
                Ok(Said::Answer(answer)) => {
                    let by = authority.filter(|_| asking).unwrap_or(address);
                    self.check(call, &manner, &by)?;
                    return Ok(answer);
                }
                Ok(Said::Redirect(redirect)) => {
                    authority = Some(address.clone());
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

    /// What `by` did counts only if most masters say that it may.
    pub(super) fn check(&self, call: &Call, manner: &Manner, by: &Address) -> Result<()> {
        match &manner.seen {
            Some(seen) if !seen.confirms(&call.key, by) => Err(unconfirmed(by)),
            _ => Ok(()),
        }
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
            Redirect::Down => {
                // It may be cut off, and another have its slots by now.
                let _ = self.refresh().await;
                if self.master_of(&call.key).as_ref() == Some(from) {
                    tokio::time::sleep(DOWN).await;
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
        assign(&mut self.map.lock(), slot, master);
        self.moved.notify_one();
    }
}

async fn ask_map(server: &Server, address: &Address, limit: Duration) -> Result<NodeWord> {
    let mut question = redis::cmd("CLUSTER");
    question.arg("SLOTS");
    let answer = tokio::time::timeout(limit, server.ask(&question)).await;
    let late = || Error::late(ErrorKind::Timeout, address, limit, Outcome::DidNot);
    let answer = answer.map_err(|_| late())??;
    word(&answer, address).ok_or_else(|| nonsense("CLUSTER SLOTS without slots"))
}

/// How many nodes this one knows, dead or alive, itself included; `None` if it
/// may not be asked.
async fn ask_known(server: &Server, limit: Duration) -> Option<usize> {
    let mut question = redis::cmd("CLUSTER");
    question.arg("INFO");
    let answer = tokio::time::timeout(limit, server.ask(&question)).await;
    let info = String::from_redis_value(answer.ok()?.ok()?).ok()?;
    field(&info, "cluster_known_nodes")?.trim().parse().ok()
}

fn undecided(answered: usize, enough: usize, all: usize) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(format!(
        "{answered} of the {all} masters of the cluster answer, and {enough} must agree on who \
         has the slot of this mutex"
    ))
}

/// Those who answer may be cut off from the cluster, or no part of it.
fn alone(named: usize, missing: usize) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(format!(
        "those who answer know {named} nodes of the cluster, and not {missing} others that the \
         URL lists or that were masters before, and that do not answer: they do not speak for \
         the cluster"
    ))
}

/// An answer that may be that of a master that was replaced.
fn unconfirmed(address: &Address) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::MayHave).with_message(format!(
        "most masters of the cluster do not say that {address} has the slot of this mutex"
    ))
}

fn uncovered() -> Error {
    Error::new(ErrorKind::Store, Outcome::DidNot)
        .with_message("no node of the cluster has the slot of this mutex")
}
