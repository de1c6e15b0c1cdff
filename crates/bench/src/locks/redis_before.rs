//! The scripts that Tenure had before their calls were counted, bare: twenty calls for a take and
//! free. The goal for the server's time was set beside them.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::aio::MultiplexedConnection;
use redis::{Client, Script, ScriptInvocation};

use super::{Lock, Locks, lease, plain, unique_id};
use crate::Result;

macro_rules! script {
    ($file:literal) => {
        concat!(
            include_str!("../../../../tests/redis/earlier/common.lua"),
            include_str!(concat!("../../../../tests/redis/earlier/", $file))
        )
    };
}

/// Owner, queue, fence, grant, kept place, and who was seen.
const ENDS: [&str; 6] = ["", ":contender", ":fence", ":grant", ":kept", ":seen"];

/// How many were taken in this process.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// One connection, shared by all tasks.
#[derive(Clone, Debug)]
pub struct RedisBefore {
    connection: MultiplexedConnection,
    lease: u64,
}

/// The keys of a mutex, and what has been granted.
#[derive(Debug)]
pub struct Keys {
    connection: MultiplexedConnection,
    take: Script,
    free: Script,
    owner: String,
    lease: u64,
    id: String,
    grant: String,
}

impl Locks for RedisBefore {
    type Lock = Keys;

    async fn open(url: &str) -> Result<Self> {
        let client = Client::open(plain(url))?;
        Ok(Self {
            connection: client.get_multiplexed_async_connection().await?,
            lease: lease(url).as_millis() as u64,
        })
    }

    fn lock(&self, name: &str) -> Result<Keys> {
        Ok(Keys {
            connection: self.connection.clone(),
            take: Script::new(script!("take.lua")),
            free: Script::new(script!("release.lua")),
            owner: format!("simba:{{before-{name}}}"),
            lease: self.lease,
            id: unique_id(),
            grant: String::new(),
        })
    }
}

impl Keys {
    fn call<'s>(script: &'s Script, owner: &str) -> ScriptInvocation<'s> {
        let mut call = script.prepare_invoke();
        for end in ENDS {
            call.key([owner, end].concat());
        }
        call
    }
}

impl Lock for Keys {
    async fn take(&mut self) -> Result<()> {
        let mut call = Self::call(&self.take, &self.owner);
        let nonce = format!("{:032x}", TAKEN.fetch_add(1, Ordering::Relaxed));
        call.arg(&self.id).arg(nonce).arg(self.lease);
        // One that queues and had no place, how long a place is kept, what was seen; no cluster,
        // no replicas.
        for word in ["1", "", "250", "0", "0", "0"] {
            call.arg(word);
        }
        let answer: Vec<String> = call.invoke_async(&mut self.connection).await?;
        let [what, _, grant, ..] = answer.as_slice() else {
            return Err("not an answer to a take".into());
        };
        if what != "won" {
            return Err("another has it".into());
        }
        self.grant.clone_from(grant);
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let mut call = Self::call(&self.free, &self.owner);
        call.arg(&self.id).arg(&self.grant).arg("250").arg("0");
        let answer: Vec<String> = call.invoke_async(&mut self.connection).await?;
        match answer.first().is_some_and(|what| what == "won") {
            true => Ok(()),
            false => Err("it was not taken".into()),
        }
    }
}
