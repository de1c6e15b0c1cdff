//! [`Combined`]: several servers as one store of locks, and the seam to the rest.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::grant::{Grant, Part};
use super::look::merged;
use super::node::Node;
use super::own_bids::OwnBids;
use super::rules::Rules;
use super::unlock::{Told, passed};
use crate::backend::{
    Administration, Answer, AnyAdministration, Backend, Bid, Finding, Held, Hints, HoldStore,
    Interest, Profile,
};
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, MutexName, MutexOwner, StoreTime};
use crate::stores::kit::{Closing, wall};
use crate::sync::Mutex;

/// How long a close waits for the nodes that are slow to unlock.
const LAST_UNLOCKS: Duration = Duration::from_secs(5);

/// Several servers as one store; clones are the same. It is a [`Backend`], so
/// the engine above it is the same as everywhere, with its deadlines, retries and
/// stubborn releases.
#[doc(hidden)]
#[derive(Clone)]
pub struct Combined(pub(super) Arc<Store>);

/// What the parts of a client share.
pub(super) struct Store {
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) rules: Rules,
    pub(super) safety_look: Duration,
    pub(super) clock: Clock,
    pub(super) runtime: Handle,
    pub(super) closing: Closing,
    /// How many unlocks are under way on each node.
    pub(super) pending: watch::Sender<Vec<usize>>,
    bids: Mutex<OwnBids>,
    /// Who asks whether a node may have a vote, and gives it.
    pub(super) one_admission_at_a_time: tokio::sync::Mutex<()>,
}

impl Combined {
    pub(crate) fn new(
        nodes: Vec<Node>,
        rules: Rules,
        safety_look: Duration,
        clock: Clock,
        runtime: Handle,
    ) -> Self {
        let pending = watch::Sender::new(vec![0; nodes.len()]);
        Self(Arc::new(Store {
            nodes: nodes.into_iter().map(Arc::new).collect(),
            pending,
            rules,
            safety_look,
            clock,
            runtime,
            closing: Closing::of("this combination lock"),
            bids: Mutex::default(),
            one_admission_at_a_time: tokio::sync::Mutex::default(),
        }))
    }
}

impl Drop for Store {
    /// A stream may outlive the client: it ends with it.
    fn drop(&mut self) {
        self.closing.close();
    }
}

impl Store {
    pub(super) fn bids(&self) -> MutexGuard<'_, OwnBids> {
        self.bids.lock()
    }

    pub(super) fn check_open(&self) -> Result<()> {
        self.closing.check_open()
    }

    /// The time by which answers are dated: this machine's own, for servers
    /// have no common one.
    pub(super) fn store_time(moment: Moment) -> StoreTime {
        StoreTime::from_millis(moment.as_nanos() / 1_000_000)
    }

    /// The owner of a grant that lasts until `until`, dated from `start`.
    pub(super) fn owner_until(grant: &Grant, start: Moment, until: Moment) -> MutexOwner {
        let now = Self::store_time(start);
        MutexOwner::foreign(grant.contender.clone())
            .owning_until(now + until.since(start))
            .with_token(grant.token)
    }
}

/// A number for the engine above, larger than any before in this process.
pub(super) fn next_token() -> Result<FencingToken> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let wall = u64::try_from(wall().as_micros()).unwrap_or(0);
    LAST.fetch_max(wall, Ordering::Relaxed);
    FencingToken::from_store(LAST.fetch_add(1, Ordering::Relaxed) + 1)
}

impl fmt::Debug for Combined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Combined")
            .field("nodes", &self.0.nodes)
            .field("mode", &self.0.rules.mode)
            .finish_non_exhaustive()
    }
}

impl HoldStore for Combined {
    async fn take(&self, bid: &Bid) -> Result<(Answer, Duration)> {
        // Each node's age has been judged.
        Ok((self.acquire(bid).await?, Duration::MAX))
    }

    async fn record(&self, held: &Held, count: u32) -> Result<bool> {
        self.0.check_open()?;
        self.record_on_all(held, count).await
    }

    async fn ping(&self) -> Result<()> {
        self.0.check_open()?;
        let mut usable = 0;
        for node in &self.0.nodes {
            usable += usize::from(node.ask(None, node.store().ping()).await.is_ok());
        }
        if usable >= self.0.rules.quorum {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(self.troubles()))
    }

    async fn undo(&self, bid: &Bid) -> Result<()> {
        self.leave(bid).await
    }
}

impl Backend for Combined {
    fn profile(&self) -> Profile {
        Profile::push("redis")
            .without_nonce()
            .unobservable()
            .looking_every(self.0.safety_look)
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.0.check_open()?;
        self.attempt(bid).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        if let Err(closed) = self.0.check_open() {
            return held.iter().map(|_| Err(closed.clone())).collect();
        }
        // One name as a rule, for a lock has one holder.
        let mut renewing = Vec::with_capacity(held.len());
        for held in held {
            let (this, held) = (self.clone(), held.clone());
            let work = async move { this.renew_one(&held).await };
            renewing.push(self.0.runtime.spawn(work));
        }
        let mut answers = Vec::with_capacity(renewing.len());
        for renewal in renewing {
            let gone = |_| {
                Err(Error::new(ErrorKind::Closed, Outcome::MayHave)
                    .with_message("the runtime of this combination lock has ended"))
            };
            answers.push(renewal.await.unwrap_or_else(gone));
        }
        answers
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.0.check_open()?;
        self.free(held).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.0.check_open()?;
        let store = &self.0;
        if !bid.unique_id {
            // What it has cannot be told from what its twin has.
            return Ok(());
        }
        let grant = store.bids().grants.remove(&bid.nonce);
        let progress = match grant {
            Some(Grant { bid, parts, .. }) => store.unlock(bid, parts, Told::Waiters),
            None => match store.progress(bid.nonce) {
                Some(progress) => progress,
                // Of another process of ours, or never sent.
                None => {
                    let touched = Part {
                        touched: true,
                        locked: None,
                    };
                    let parts = vec![touched; store.nodes.len()];
                    store.unlock(store.node_bid(bid), parts, Told::Waiters)
                }
            },
        };
        passed(progress).await;
        Ok(())
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.0.check_open()?;
        self.look(name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        if self.0.check_open().is_err() {
            return Hints::ended();
        }
        let nodes = self.0.nodes.iter();
        let hints = nodes.map(|node| node.store().backend().changes(interest));
        let closing = self.0.closing.clone();
        Hints::new(merged(hints.collect(), closing, self.0.clock.clone()))
    }

    async fn close(&self) -> Result<()> {
        self.0.closing.close();
        let left = self.0.unlocked_within(LAST_UNLOCKS).await;
        let mut result = Ok(());
        for node in &self.0.nodes {
            if node.leave() {
                result = result.and(node.store().backend().close().await);
            }
        }
        if left.is_empty() {
            return result;
        }
        Err(
            Error::new(ErrorKind::Unconfirmed, Outcome::MayHave).with_message(format!(
                "closed before every node had confirmed its unlock; for one expiry at most the \
                 lock may still stand on {}",
                left.join(", ")
            )),
        )
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }
}

impl Administration for Combined {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.0.check_open()?;
        let now = || Store::store_time(self.0.clock.now());
        let Some(token) = token else {
            let freed = self.free_anybody(name).await?;
            let answer = if freed { Answer::won } else { Answer::refused };
            return Ok(answer(MutexOwner::NONE, now()));
        };
        let held = {
            let bids = self.0.bids();
            let named =
                |grant: &&Grant| grant.bid.name == *name && grant.token.store() == token.store();
            let grant = bids.grants.values().find(named);
            grant.map(|grant| Held {
                contender: grant.contender.clone(),
                ..grant.bid.held(grant.token)
            })
        };
        match held {
            Some(held) => self.free(&held).await,
            None => self.look(name).await,
        }
    }

    async fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for node in &self.0.nodes {
            if let Some(trouble) = node.trouble() {
                let remedy = "see whether it is up and reachable from here";
                findings.push(Finding::bad(node.label().to_owned(), trouble, remedy));
            }
            for mut finding in node.store().administration().check().await {
                finding.subject = format!("{}: {}", node.label(), finding.subject).into();
                findings.push(finding);
            }
        }
        findings
    }
}
