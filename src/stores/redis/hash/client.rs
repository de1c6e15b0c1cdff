//! [`RedisHash`]: the client, the seam to the rest.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{FromRedisValue, Value};
use tokio::sync::OnceCell;

use super::super::client::Redis;
use super::super::error::nonsense;
use super::super::reply::{Reply, millis};
use super::super::scripts::Lua;
use super::super::watch::{Says, sharded};
use super::{list, names, renew};
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyHoldServer, Backend, Bid, Finding, Held, Hints,
    Hold, HoldServer, HoldStore, Interest, Profile,
};
use crate::clock::Clock;
use crate::error::{ErrorKind, Result};
use crate::model::{FencingToken, MutexName};
use crate::stores::StoreOptions;

/// The reentrant locks of a Redis store; clones are the same client.
#[derive(Clone)]
pub struct RedisHash {
    pub(super) redis: Redis,
    /// Whether wake-ups go by shard; asked once, of a cluster only.
    by_shard: Arc<OnceCell<bool>>,
}

impl RedisHash {
    /// Connects to what `options` name, for its reentrant locks only.
    ///
    /// # Errors
    /// As [`Redis::open`].
    ///
    /// # Cancel safety
    /// Dropped, the connection is closed.
    pub async fn open(options: &StoreOptions, clock: Clock) -> Result<Self> {
        Ok(Self::of(Redis::open(options, clock).await?))
    }

    /// Begins to connect to the one server that `options` name.
    pub(in crate::stores) fn begin(options: &StoreOptions, clock: Clock) -> Result<Self> {
        Redis::begin(options, clock).map(Self::of)
    }

    /// The reentrant locks of the store of `redis`, over its connections.
    #[must_use]
    pub fn of(redis: Redis) -> Self {
        Self {
            redis,
            by_shard: Arc::default(),
        }
    }

    /// Since Redis 7 a cluster keeps the messages of a shard inside it, and
    /// Redisson sends them there.
    async fn is_by_shard(&self) -> Result<bool> {
        if !self.redis.0.config.is_cluster() {
            return Ok(false);
        }
        let ask = || async {
            let mut question = redis::cmd("PUBSUB");
            question.arg("SHARDNUMSUB");
            match self.redis.0.servers.ask(&question).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::Store => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.by_shard.get_or_try_init(ask).await.copied()
    }

    /// The unlock channel as the registry knows it.
    fn ear(&self, name: &MutexName) -> String {
        let channel = names::channel(name);
        // No waiter listens before its first attempt has been refused, which asks.
        if self.by_shard.get().copied().unwrap_or(false) {
            sharded(&channel)
        } else {
            channel
        }
    }

    async fn ask_take(&self, bid: &Bid, aged: &str) -> Result<Reply> {
        self.redis.check_open()?;
        self.check_name(&bid.name)?;
        self.is_by_shard().await?;
        let (registry, ear) = (&self.redis.0.registry, self.ear(&bid.name));
        match aged {
            // Of a caller with little time: it hears later what it missed.
            "1" => registry.go_on_without(&ear),
            // The waiter must be subscribed before it is sent away to wait.
            _ if bid.queue => registry.ready(&ear).await,
            _ => {}
        }
        let lease = millis(bid.terms.lease()).to_string();
        let seen = bid.seen.map_or(0, FencingToken::store).to_string();
        let unique = if bid.unique_id { "1" } else { "0" };
        let lasting = if bid.shares_fence { "1" } else { "0" };
        let waits = self.redis.waits();
        let holder = bid.contender.as_str();
        let arguments = [holder, &lease, &seen, unique, aged, lasting, waits];
        let call = Lua::HoldTake.call(&names::both(&bid.name), &arguments);
        self.redis.send_take(bid, |_| call).await
    }

    /// There is no queue here: all who wait come when the lease is over that
    /// stood in the way of `bid`.
    fn ring_when_over(&self, bid: &Bid, answer: &Answer) {
        let left = answer.owner().remaining(answer.now());
        if let Some(left) = left.filter(|_| bid.queue && !answer.is_won()) {
            self.redis.ring_after(&self.ear(&bid.name), left);
        }
    }

    /// Frees the hold of `holder` under `token`, if it is there; empty for any.
    async fn free(&self, name: &MutexName, holder: &str, token: &str) -> Result<Answer> {
        let publish = if self.is_by_shard().await? {
            "SPUBLISH"
        } else {
            "PUBLISH"
        };
        self.free_and(name, holder, token, publish).await
    }

    /// The same, told by this command; empty to tell no waiter.
    async fn free_and(
        &self,
        name: &MutexName,
        holder: &str,
        token: &str,
        publish: &str,
    ) -> Result<Answer> {
        let channel = names::channel(name);
        let arguments = [holder, token, &channel, publish];
        let call = Lua::HoldFree.call(&names::both(name), &arguments);
        self.redis.reply(&call).await?.answer(None)
    }

    fn check_name(&self, name: &MutexName) -> Result<()> {
        if self.redis.0.config.is_cluster() {
            names::check_slots(name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for RedisHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisHash").field(&self.redis).finish()
    }
}

impl HoldStore for RedisHash {
    async fn take(&self, bid: &Bid) -> Result<(Answer, Duration)> {
        let reply = self.ask_take(bid, "1").await?;
        // It may have been taken, so nothing fails any more: a server that does
        // not say how old it is counts as new.
        let up = reply.up.unwrap_or_default();
        let answer = reply.answer(Some(&bid.terms))?;
        self.ring_when_over(bid, &answer);
        Ok((answer, up))
    }

    async fn record(&self, held: &Held, count: u32) -> Result<bool> {
        let (token, count) = (held.token.store().to_string(), count.to_string());
        let lease = millis(held.terms.lease()).to_string();
        let arguments = [held.contender.as_str(), &token, &count, &lease];
        let call = Lua::HoldCount.call(&names::both(&held.name), &arguments);
        let answer = self.redis.run(&call).await?;
        bool::from_redis_value(answer).map_err(nonsense)
    }

    async fn ping(&self) -> Result<()> {
        let answer: Value = self.redis.0.servers.ask(&redis::cmd("PING")).await?;
        drop(answer);
        Ok(())
    }

    async fn undo(&self, bid: &Bid) -> Result<()> {
        self.redis.check_open()?;
        let holder = bid.contender.as_str();
        self.free_and(&bid.name, holder, "", "").await.map(drop)
    }

    fn server(&self) -> Option<AnyHoldServer<'_>> {
        Some(AnyHoldServer::new(self))
    }
}

impl HoldServer for RedisHash {
    async fn held(&self, names: &[MutexName]) -> Result<Vec<Hold>> {
        list::survey(self, names).await
    }

    async fn server_id(&self) -> Result<String> {
        let mut question = redis::cmd("INFO");
        question.arg("server");
        let answer = self.redis.0.servers.ask(&question).await?;
        let text = String::from_redis_value(answer).map_err(nonsense)?;
        let id = text.lines().find_map(|line| line.strip_prefix("run_id:"));
        id.map(|id| id.trim().to_owned())
            .ok_or_else(|| nonsense("INFO without a run_id"))
    }
}

impl Backend for RedisHash {
    fn profile(&self) -> Profile {
        Profile::push(self.redis.0.config.scheme)
            .without_nonce()
            .unobservable()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let answer = self.ask_take(bid, "0").await?.answer(Some(&bid.terms))?;
        self.ring_when_over(bid, &answer);
        Ok(answer)
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        renew::renew(&self.redis, held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let token = held.token.store().to_string();
        self.free(&held.name, held.contender.as_str(), &token).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.redis.check_open()?;
        if !bid.unique_id {
            // What it has cannot be told from what its twin has.
            return Ok(());
        }
        let freed = self.free(&bid.name, bid.contender.as_str(), "");
        freed.await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let call = Lua::HoldLook.call(&[names::key(name)], &[]);
        self.redis.reply(&call).await?.answer(None)
    }

    fn changes(&self, interest: &Interest) -> Hints {
        if self.redis.check_open().is_err() {
            return Hints::ended();
        }
        let channel = (self.ear(&interest.name), Says::Unlocked);
        Hints::new(self.redis.0.registry.listen(vec![channel]))
    }

    async fn close(&self) -> Result<()> {
        self.redis.close().await
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }
}

impl Administration for RedisHash {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        let token = token.map_or_else(String::new, |token| token.store().to_string());
        self.free(name, "", &token).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.redis.check().await
    }
}
