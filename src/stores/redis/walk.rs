//! A walk through all keys, in spells.
//!
//! SCAN knows no order, so nothing can be told before the walk is at its end.
//! Many keys, or a slow way to them, make that long: the caller gets an empty
//! page to be continued, and goes on where the walk is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::Redis;
use super::error::nonsense;
use super::keys;
use super::list::scan;
use super::server::Server;
use crate::error::Result;
use crate::model::MutexName;

/// The most names that are kept for the pages to come: some ten megabytes.
const MOST: usize = 100_000;

/// For how long one call walks. At least one stride on each server is made.
const SPELL: Duration = Duration::from_millis(500);

/// The names that were found, in order.
#[derive(Default)]
pub(super) struct Found {
    pub(super) names: Vec<MutexName>,
    /// There are more behind the last.
    pub(super) cut: bool,
}

/// A walk that may not be at its end.
#[derive(Clone)]
pub(super) struct Walk {
    /// Only names after this one.
    pub(super) after: Option<MutexName>,
    names: BTreeSet<MutexName>,
    cut: bool,
    /// The servers where there is more, and where it goes on.
    open: Vec<(Arc<Server>, String)>,
}

impl Walk {
    pub(super) fn new(redis: &Redis, after: Option<MutexName>) -> Self {
        let servers = redis.0.servers.masters().into_iter();
        Self {
            after,
            names: BTreeSet::new(),
            cut: false,
            open: servers.map(|server| (server, "0".to_owned())).collect(),
        }
    }

    /// Walks for a while; what was found, if that was the end.
    pub(super) async fn go_on(mut self, redis: &Redis) -> Result<Result<Found, Self>> {
        let end = Instant::now() + SPELL;
        let mut walks = JoinSet::new();
        for (server, cursor) in std::mem::take(&mut self.open) {
            let redis = redis.clone();
            walks.spawn(async move {
                let walked = walk(&redis, &server, cursor, end).await;
                (server, walked)
            });
        }
        while let Some(walked) = walks.join_next().await {
            let (server, walked) = walked.map_err(nonsense)?;
            let (found, cursor) = walked?;
            if let Some(cursor) = cursor {
                self.open.push((server, cursor));
            }
            for name in found {
                self.add(name);
            }
        }
        if !self.open.is_empty() {
            return Ok(Err(self));
        }
        Ok(Ok(Found {
            names: self.names.into_iter().collect(),
            cut: self.cut,
        }))
    }

    fn add(&mut self, name: MutexName) {
        if self.after.as_ref().is_some_and(|after| name <= *after) {
            return;
        }
        self.names.insert(name);
        if self.names.len() > MOST {
            self.names.pop_last();
            self.cut = true;
        }
    }
}

/// Names on one server from `cursor` on, and where it goes on if it is not at
/// its end.
async fn walk(
    redis: &Redis,
    server: &Server,
    mut cursor: String,
    end: Instant,
) -> Result<(BTreeSet<MutexName>, Option<String>)> {
    let prefix = redis.0.config.prefix.as_bytes();
    let mut names = BTreeSet::new();
    loop {
        let (next, found) = scan(redis, server, &cursor).await?;
        let found = found.iter();
        names.extend(found.filter_map(|key| keys::name_in_use(prefix, key)));
        if next == "0" {
            return Ok((names, None));
        }
        if Instant::now() >= end {
            return Ok((names, Some(next)));
        }
        cursor = next;
    }
}
