//! Two bare scripts: the least that a lock on Redis can send.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, Script};

use super::{Lock, Locks, lease, plain, unique_id};
use crate::Result;

/// As the scripts of Tenure: the answer says whether it was taken, and how long it is another's.
const TAKE: &str = "
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return -1 end
return redis.call('PTTL', KEYS[1])";

const FREE: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0";

/// One connection, shared by all tasks.
#[derive(Clone, Debug)]
pub struct RedisEvalsha {
    connection: MultiplexedConnection,
    lease: u64,
}

/// A key.
#[derive(Debug)]
pub struct Key {
    connection: MultiplexedConnection,
    take: Script,
    free: Script,
    key: String,
    lease: u64,
    id: String,
}

impl Locks for RedisEvalsha {
    type Lock = Key;

    async fn open(url: &str) -> Result<Self> {
        let client = Client::open(plain(url))?;
        Ok(Self {
            connection: client.get_multiplexed_async_connection().await?,
            lease: lease(url).as_millis() as u64,
        })
    }

    fn lock(&self, name: &str) -> Result<Key> {
        Ok(Key {
            connection: self.connection.clone(),
            lease: self.lease,
            take: Script::new(TAKE),
            free: Script::new(FREE),
            key: format!("bare:{name}"),
            id: unique_id(),
        })
    }
}

impl Lock for Key {
    /// Who is refused tries again when the lease has ended: the server tells it nothing.
    async fn take(&mut self) -> Result<()> {
        loop {
            let mut call = self.take.key(&self.key);
            call.arg(&self.id).arg(self.lease);
            let left: i64 = call.invoke_async(&mut self.connection).await?;
            let Ok(left) = u64::try_from(left) else {
                return Ok(());
            };
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
    }

    async fn free(&mut self) -> Result<()> {
        let mut call = self.free.key(&self.key);
        call.arg(&self.id);
        Ok(call.invoke_async(&mut self.connection).await?)
    }
}
