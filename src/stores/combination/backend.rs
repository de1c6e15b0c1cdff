//! The combination as a [`Backend`]: so the engine above it is the same as
//! everywhere, with its deadlines, retries and stubborn releases.

use std::time::Duration;

use super::client::{Combined, Store};
use super::grant::{Grant, Part};
use super::look::merged;
use super::unlock::{Told, passed};
use crate::backend::{
    Administration, Answer, AnyAdministration, Backend, Bid, Finding, Held, Hints, HoldStore,
    Interest, Profile,
};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, MutexName, MutexOwner};

/// How long a close waits for the nodes that are slow to unlock.
const LAST_UNLOCKS: Duration = Duration::from_secs(5);

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
        let shared = &self.0;
        if !bid.unique_id {
            // What it has cannot be told from what its twin has.
            return Ok(());
        }
        let grant = shared.bids().grants.remove(&bid.nonce);
        let progress = match grant {
            Some(Grant { bid, parts, .. }) => shared.unlock(bid, parts, Told::Waiters),
            None => match shared.progress(bid.nonce) {
                Some(progress) => progress,
                // Of another process of ours, or never sent.
                None => {
                    let touched = Part {
                        touched: true,
                        locked: None,
                    };
                    let parts = vec![touched; shared.nodes.len()];
                    shared.unlock(shared.node_bid(bid), parts, Told::Waiters)
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
