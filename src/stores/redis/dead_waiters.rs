//! Clearing dead waiters away, a few at a time: a script blocks the server, so
//! each does little and says what it left.

use std::collections::HashSet;
use std::sync::Arc;

use redis::FromRedisValue;
use tokio::task::JoinSet;

use super::client::Redis;
use super::error::nonsense;
use super::reply::{Reply, Rest};
use super::scripts::Lua;
use crate::error::Result;
use crate::model::MutexName;
use crate::sync::Mutex;

/// How often a take asks again by itself, each time past up to 16 dead.
pub(super) const ROUNDS: usize = 1024;

/// How many calls are under way at a time. Others are served between them, and
/// the way there and back is not waited for each time.
const WIDTH: usize = 8;

/// The mutexes whose queue this client is clearing.
#[derive(Default)]
pub(super) struct Sweeps(Arc<Mutex<HashSet<MutexName>>>);

impl Sweeps {
    /// A turn at the queue of `name`; `None` while another has it.
    fn begin(&self, name: &MutexName) -> Option<Sweep> {
        let new = self.0.lock().insert(name.clone());
        new.then(|| Sweep {
            all: Arc::clone(&self.0),
            name: name.clone(),
        })
    }
}

/// Dropped, another may begin.
struct Sweep {
    all: Arc<Mutex<HashSet<MutexName>>>,
    name: MutexName,
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.all.lock().remove(&self.name);
    }
}

/// Does what `reply` left, in the background and in the name of `by`. Nothing
/// depends on it: the next who looks goes on where this ended.
pub(super) fn go_on(redis: &Redis, name: &MutexName, by: &str, reply: &Reply) {
    if reply.rest.is_none() {
        return;
    }
    let Some(turn) = redis.0.sweeps.begin(name) else {
        return;
    };
    let (redis, by) = (redis.clone(), by.to_owned());
    tokio::spawn(async move {
        let mut calls = 0_usize;
        // Once all of a round agree that nothing is left.
        while round(&redis, &turn.name, &by).await {
            calls += WIDTH;
        }
        tracing::debug!(mutex = %turn.name, calls, "dead waiters were cleared away");
    });
}

/// Some calls at once; whether there is more to do.
async fn round(redis: &Redis, name: &MutexName, by: &str) -> bool {
    let mut calls = JoinSet::new();
    for _ in 0..WIDTH {
        let (redis, name, by) = (redis.clone(), name.clone(), by.to_owned());
        calls.spawn(async move { next(&redis, &name, &by).await });
    }
    let answers = calls.join_all().await;
    // Closed, or in trouble: the next look finds the rest.
    answers.iter().all(Result::is_ok) && answers.iter().any(|rest| matches!(rest, Ok(Some(_))))
}

async fn next(redis: &Redis, name: &MutexName, by: &str) -> Result<Option<Rest>> {
    let reserve = redis.reserve();
    let arguments = [by, &reserve, redis.cluster()];
    let call = Lua::Next.about(redis.keys(name), &arguments);
    let rest = String::from_redis_value(redis.run(&call).await?).map_err(nonsense)?;
    Ok(Rest::read(&rest))
}
