//! A bare grant by push: who frees makes the first waiter the owner, and the message is the grant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use redis::aio::MultiplexedConnection;
use redis::{Client, Script};
use tokio::sync::oneshot;

use super::{Lock, Locks, lease, plain, unique_id};
use crate::Result;

const TAKE: &str = "
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return 0";

const FREE: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if not next then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], next, 'PX', ARGV[2])
return redis.call('PUBLISH', string.match(next, '^[^:]+'), next)";

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

/// One connection for scripts, and one that listens to the channel of this process.
#[derive(Clone, Debug)]
pub struct RedisPush {
    connection: MultiplexedConnection,
    channel: String,
    waiting: Waiting,
    lease: u64,
}

/// A key, and the list of those that wait for it.
#[derive(Debug)]
pub struct Key {
    locks: RedisPush,
    take: Script,
    free: Script,
    key: String,
    list: String,
    id: String,
}

impl Locks for RedisPush {
    type Lock = Key;

    async fn open(url: &str) -> Result<Self> {
        let client = Client::open(plain(url))?;
        let channel = format!("bench-{}", unique_id());
        let mut listener = client.get_async_pubsub().await?;
        listener.subscribe(&channel).await?;
        let waiting = Waiting::default();
        let told = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut messages = listener.on_message();
            while let Some(message) = messages.next().await {
                let id: String = message.get_payload().unwrap_or_default();
                let waiter = told.lock().expect("no panic").remove(&id);
                let _ = waiter.map(|waiter| waiter.send(()));
            }
        });
        Ok(Self {
            connection: client.get_multiplexed_async_connection().await?,
            channel,
            waiting,
            lease: lease(url).as_millis() as u64,
        })
    }

    fn lock(&self, name: &str) -> Result<Key> {
        Ok(Key {
            locks: self.clone(),
            take: Script::new(TAKE),
            free: Script::new(FREE),
            key: format!("push:{name}"),
            list: format!("push:{name}:waiters"),
            id: format!("{}:{}", self.channel, unique_id()),
        })
    }
}

impl Lock for Key {
    async fn take(&mut self) -> Result<()> {
        let (grant, granted) = oneshot::channel();
        let waiting = &self.locks.waiting;
        waiting
            .lock()
            .expect("no panic")
            .insert(self.id.clone(), grant);
        let mut call = self.take.key(&self.key);
        call.key(&self.list).arg(&self.id);
        call.arg(self.locks.lease);
        let taken: bool = call.invoke_async(&mut self.locks.connection).await?;
        if taken {
            waiting.lock().expect("no panic").remove(&self.id);
            return Ok(());
        }
        Ok(granted.await?)
    }

    async fn free(&mut self) -> Result<()> {
        let mut call = self.free.key(&self.key);
        call.key(&self.list).arg(&self.id);
        call.arg(self.locks.lease);
        Ok(call.invoke_async(&mut self.locks.connection).await?)
    }
}
