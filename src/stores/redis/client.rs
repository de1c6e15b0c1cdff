//! [`Redis`]: a client of a Redis store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::arguments::Manners;
use super::config::Config;
use super::connect::Connector;
use super::keys::Keys;
use super::reply::{Reply, Rest, millis};
use super::scripts::{Call, Lua};
use super::server::Manner;
use super::servers::Servers;
use super::watch::{Registry, Says};
use super::{dead_waiters, error, health, ledger, ledgers, list, look, prune, renew};
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Nonce, Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, MutexName};
use crate::stores::StoreOptions;
use crate::stores::kit::{Closing, HeardClock};

/// A client of a Redis store; clones are the same client.
///
/// It has one connection for commands and, once there is a waiter, one for
/// wake-ups, whatever the number of mutexes (in a cluster: per master).
#[derive(Clone)]
pub struct Redis(pub(super) Arc<Store>);

/// What the parts of a client share.
pub(super) struct Store {
    pub(super) config: Arc<Config>,
    manners: Manners,
    clock: Clock,
    pub(super) servers: Arc<Servers>,
    pub(super) registry: Arc<Registry>,
    closing: Closing,
    /// The server's clock; of a cluster that of the one that answered last.
    time: HeardClock,
    /// A denied PUBLISH has been told once.
    warned: AtomicBool,
    pub(super) sweeps: dead_waiters::Sweeps,
    _end: DropGuard,
}

impl Redis {
    /// Connects to what `options` name.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for options that make no sense;
    /// otherwise why the server cannot be used.
    ///
    /// # Cancel safety
    /// Dropped, the connection is closed.
    pub async fn open(options: &StoreOptions, clock: Clock) -> Result<Self> {
        super::config::open(options, clock).await
    }

    pub(super) async fn connect(config: Config, clock: Clock) -> Result<Self> {
        let config = Arc::new(config);
        let connector = Connector::new(Arc::clone(&config), clock);
        let servers = Servers::open(&connector).await?;
        let redis = Self::over(config, connector, servers);
        health::warn_of_eviction(&redis).await;
        Ok(redis)
    }

    /// Begins to connect to the one server that `options` name, in the background;
    /// calls say why it is not there.
    pub(super) fn begin(options: &StoreOptions, clock: Clock) -> Result<Self> {
        let config = Arc::new(Config::parse(options)?);
        let connector = Connector::new(Arc::clone(&config), clock);
        let servers = Servers::begin(&connector)?;
        let redis = Self::over(config, connector, servers);
        let there = redis.clone();
        // Said soon or never: the doctor says it too.
        tokio::spawn(async move { health::warn_of_eviction(&there).await });
        Ok(redis)
    }

    fn over(config: Arc<Config>, connector: Connector, servers: Servers) -> Self {
        let (clock, servers) = (connector.clock.clone(), Arc::new(servers));
        let registry = Arc::new(Registry::default());
        let end = CancellationToken::new();
        let subscriber = super::subscriber::run(
            Arc::clone(&registry),
            connector,
            Arc::clone(&servers),
            end.clone(),
        );
        tokio::spawn(subscriber);
        let waits = config.wait_replicas > 0;
        Self(Arc::new(Store {
            manners: Manners::new(config.reserve, config.is_cluster(), waits),
            config,
            time: HeardClock::guessed(clock.now()),
            clock,
            servers,
            registry,
            closing: Closing::of(error::CLIENT),
            warned: AtomicBool::new(false),
            sweeps: dead_waiters::Sweeps::default(),
            _end: end.drop_guard(),
        }))
    }

    pub(super) fn keys(&self, name: &MutexName) -> Keys {
        Keys::new(&self.0.config.prefix, name)
    }

    pub(super) fn now(&self) -> Moment {
        self.0.clock.now()
    }

    pub(super) fn check_open(&self) -> Result<()> {
        self.0.closing.check_open()
    }

    /// The listeners of `channel` are told when a lease is over that lasts for
    /// `left` yet; its last millisecond is still owned.
    pub(super) fn ring_after(&self, channel: &str, left: Duration) {
        let at = self.now() + left + Duration::from_millis(1);
        self.0.registry.ring(channel, at, &self.0.clock);
    }

    /// Calls a script about one mutex.
    pub(super) async fn run(&self, call: &Call) -> Result<Value> {
        self.check_open()?;
        self.0.servers.run(call, &Manner::default()).await
    }

    pub(super) async fn reply(&self, call: &Call) -> Result<Reply> {
        let value = self.run(call).await?;
        let reply = Reply::read(value, self.0.time.at(self.now()))?;
        self.heed(&reply);
        Ok(reply)
    }

    /// A PUBLISH that is denied costs the others their wake-ups, not us the
    /// mutex: said once.
    pub(super) fn heed(&self, reply: &Reply) {
        if let Some(trouble) = &reply.trouble
            && !self.0.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %trouble,
                "waiters cannot be woken: the Redis user may not PUBLISH; see docs/stores/redis.md"
            );
        }
    }

    pub(super) fn reserve(&self) -> String {
        millis(self.0.config.reserve).to_string()
    }

    pub(super) fn cluster(&self) -> &'static str {
        if self.0.config.is_cluster() { "1" } else { "0" }
    }

    /// Whether a take counts only once replicas have it.
    pub(super) fn waits(&self) -> &'static str {
        if self.0.config.wait_replicas > 0 {
            "1"
        } else {
            "0"
        }
    }

    async fn take(&self, bid: &Bid) -> Result<Reply> {
        let keys = self.keys(&bid.name);
        let say = |reckoned| {
            Lua::Take.saying(keys, |call| {
                self.0.manners.say_to_take(bid, reckoned, call);
            })
        };
        let sent = self.send_take(bid, say).await;
        if let Err(error) = &sent
            && error.kind() == ErrorKind::Conflict
            && bid.queue
        {
            // It may stand in the queue behind what is no owner.
            let _ = Box::pin(self.give_up_place(bid)).await;
        }
        sent
    }

    /// Gives up the place of `bid` in the queue, and nothing that it has won or
    /// will win: this may arrive late, when the bidder has asked again.
    async fn give_up_place(&self, bid: &Bid) -> Result<()> {
        // A grant is freed only under its own nonce.
        let nonce = Nonce::random();
        self.leave(&Bid {
            nonce,
            ..bid.clone()
        })
        .await
    }

    /// The error of a take that was not the first, once the place in the queue that
    /// an earlier one may have given to `bid` is given up.
    async fn undone(&self, bid: &Bid, error: Error) -> Error {
        if !bid.queue || self.give_up_place(bid).await.is_ok() {
            return error;
        }
        let (retry, message) = (error.retry(), error.to_string());
        Error::new(error.kind(), Outcome::MayHave)
            .with_retry(retry)
            .with_message(message)
            .with_source(error)
    }

    /// Sends a take, which `say` puts into words by what the server's clock is
    /// reckoned to show. Where replicas are asked for it counts only once enough
    /// of them have it.
    ///
    /// What does not count is not undone here: the bidder may ask again, under
    /// the same nonce, and would own what is undone late. It is undone with the
    /// bid, or the next attempt finds it and waits for the replicas again.
    pub(super) async fn send_take(
        &self,
        bid: &Bid,
        say: impl FnOnce(Option<u64>) -> Call,
    ) -> Result<Reply> {
        let (config, lease) = (&self.0.config, bid.terms.lease());
        let (began, limit) = (self.now(), wait_limit(&bid.terms));
        let fresh = (lease / 10).min(Duration::from_secs(1));
        let confirmed = self.0.servers.confirmed(began - fresh, limit).await?;
        let (mut manner, asked_at) = confirmed;
        manner.grace = config.restart_grace.then_some(lease);
        // Ours for one lease from when it was certain whose word counts.
        let left = asked_at.map(|asked_at| lease.saturating_sub(began.since(asked_at)));
        let read = |value, reckoned| {
            let heard = self.now();
            let about = self.0.time.at(heard);
            let reply = Reply::of_take(value, bid, reckoned, about)?;
            self.0.time.heard(reply.now, began, heard);
            Ok(reply.at_most(left))
        };
        if config.wait_replicas == 0 {
            let (value, reckoned) = self.0.servers.take(&manner, began, say).await?;
            return read(value, reckoned);
        }
        let call = say(None);
        let waited =
            self.0
                .servers
                .run_and_wait(&call, &manner, is_taken, config.wait_replicas, limit);
        let (value, acknowledged) = Box::pin(waited).await?;
        let reply = read(value, None)?;
        if !reply.is_won() || acknowledged >= u64::from(config.wait_replicas) {
            return Ok(reply);
        }
        Err(too_few(
            acknowledged,
            config.wait_replicas,
            Outcome::MayHave,
        ))
    }
}

/// How long replicas may take.
pub(super) fn wait_limit(terms: &crate::model::LeaseTerms) -> Duration {
    (terms.call_timeout() / 2).min(Duration::from_secs(1))
}

pub(super) fn too_few(acknowledged: u64, wanted: u32, outcome: Outcome) -> Error {
    Error::new(ErrorKind::Store, outcome).with_message(format!(
        "only {acknowledged} of the {wanted} replicas that wait_replicas asks for have confirmed"
    ))
}

/// Whether this is the answer to a take that won.
fn is_taken(value: &Value) -> bool {
    match value {
        Value::BulkString(_) => true,
        Value::Array(parts) => {
            matches!(parts.first(), Some(Value::BulkString(text)) if text == b"won")
        }
        _ => false,
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Redis").field(&self.0.config).finish()
    }
}

impl Backend for Redis {
    fn profile(&self) -> Profile {
        Profile::push(self.0.config.scheme)
            .ordered()
            .looking_every(Duration::from_secs(2))
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.check_open()?;
        if bid.queue && !self.0.registry.is_empty() {
            // The waiter must be subscribed before it is sent away to wait.
            let channel = self.keys(&bid.name).turn_channel(&bid.contender);
            self.0.registry.ready(&channel).await;
        }
        let mut reply = self.take(bid).await?;
        // Free, behind dead ones: whether it is ours is known once they are
        // out of the way.
        let mut is_again = false;
        for _ in 0..dead_waiters::ROUNDS {
            if reply.rest != Some(Rest::Dead) {
                break;
            }
            is_again = true;
            reply = match Box::pin(self.take(bid)).await {
                Ok(reply) => reply,
                Err(error) => return Err(Box::pin(self.undone(bid, error)).await),
            };
        }
        self.heed(&reply);
        dead_waiters::go_on(self, &bid.name, bid.contender.as_str(), &reply);
        match reply.answer(Some(&bid.terms)) {
            Err(error) if is_again => Err(Box::pin(self.undone(bid, error)).await),
            answer => answer,
        }
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        renew::renew(self, held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let call = Lua::Release.saying(self.keys(&held.name), |call| {
            self.0.manners.say_to_release(held, call);
        });
        let reply = self.reply(&call).await?;
        dead_waiters::go_on(self, &held.name, held.contender.as_str(), &reply);
        reply.answer(None)
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        let (nonce, reserve) = (bid.nonce.to_string(), self.reserve());
        let arguments = [bid.contender.as_str(), &nonce, &reserve, self.cluster()];
        let call = Lua::Leave.about(self.keys(&bid.name), &arguments);
        let reply = self.reply(&call).await?;
        dead_waiters::go_on(self, &bid.name, bid.contender.as_str(), &reply);
        Ok(())
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        look::look(self, name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        if self.check_open().is_err() {
            return Hints::ended();
        }
        let keys = self.keys(&interest.name);
        let mut channels = Vec::new();
        if let Some(waiter) = &interest.waiter {
            channels.push((keys.turn_channel(waiter), Says::Turn));
        }
        if interest.owner {
            channels.push((keys.broadcast_channel(), Says::Changed));
            channels.push((keys.freed_channel(), Says::Freed));
        }
        Hints::new(self.0.registry.listen(channels))
    }

    async fn close(&self) -> Result<()> {
        self.0.closing.close();
        self.0.registry.close();
        self.0.servers.close();
        Ok(())
    }

    fn inventory(&self) -> Option<AnyInventory<'_>> {
        Some(AnyInventory::new(self))
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }

    fn ledger(&self) -> Option<AnyLedger<'_>> {
        Some(AnyLedger::new(self))
    }
}

impl Inventory for Redis {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.check_open()?;
        list::list(self, page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.check_open()?;
        prune::prune(self, prune).await
    }
}

impl Administration for Redis {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        if std::str::from_utf8(name.as_bytes()).is_err() {
            self.check_open()?;
            return look::remove(self, name, token).await;
        }
        let token = token.map_or_else(String::new, |token| token.store().to_string());
        let reserve = self.reserve();
        let arguments = [token.as_str(), &reserve, self.cluster()];
        let call = Lua::Revoke.about(self.keys(name), &arguments);
        let reply = self.reply(&call).await?;
        dead_waiters::go_on(self, name, "revoked", &reply);
        reply.answer(None)
    }

    async fn check(&self) -> Vec<Finding> {
        health::check(self).await
    }
}

impl Ledger for Redis {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        ledger::read(self, name).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.check_open()?;
        ledgers::list(self, page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        ledger::claim(self, held, claim).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        ledger::finish(self, held, end).await
    }
}
