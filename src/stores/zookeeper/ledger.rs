//! The run ledger: the data of `/tenure/schedule/<mutex>`, one `key=value` a
//! line. It never lies under a latch, where Curator takes every child for a
//! contender.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use zookeeper_client::{CheckWriteError, CreateMode, Error as Fault, MultiWriteResult};

use super::client::Store;
use super::owner::{ATTEMPTS, restless};
use super::session::Session;
use super::{clock, error};
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::error::{Error, Outcome, Result};
use crate::model::{FencingToken, MutexName, StoreTime};

impl Store {
    pub(super) async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let session = self.session()?;
        let path = self.config.paths.schedule(name);
        // Another's claim must be seen: it may have been the leader before.
        let client = session.client();
        let sync = client.sync(&path);
        let read = self.read(&session, &path);
        let (synced, read) = futures_util::future::join(sync, read).await;
        synced.map_err(error::read)?;
        Ok(read?.map(|(entry, _)| entry))
    }

    /// The ledger and its version.
    async fn read(&self, session: &Session, path: &str) -> Result<Option<(LedgerEntry, i32)>> {
        match session.client().get_data(path).await {
            Ok((data, stat)) => {
                self.saw(clock::time(stat.mtime));
                let entry = parse(&data).ok_or_else(|| {
                    Error::conflict(format!("the node {path} does not hold a schedule's ledger"))
                })?;
                Ok(Some((entry, stat.version)))
            }
            Err(Fault::NoNode) => Ok(None),
            Err(error) => Err(error::read(error)),
        }
    }

    pub(super) async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let path = self.config.paths.schedule(&held.name);
        let entry = LedgerEntry::claimed(claim, held.token);
        let data = print(&entry);
        for _ in 0..ATTEMPTS {
            let session = self.session()?;
            let now = self.clock.now();
            let Some(owned) = self.places.owned(held, session.id(), now) else {
                return Ok(ClaimAnswer::NotOwner);
            };
            let ledger = self.read(&session, &path).await?;
            if let Some((entry, _)) = &ledger
                && !claim.fits(Some(entry), held.token)
            {
                return Ok(ClaimAnswer::Refused(entry.clone()));
            }
            // In one transaction: only while the grant's node is there, which
            // no other can stand before. A ledger read from a server that lags
            // is refused by its version.
            let dir = self.config.paths.mutex(&held.name);
            let node = format!("{dir}/{}", owned.node.child);
            let client = session.client();
            let mut writer = client.new_check_writer(&node, None).map_err(error::read)?;
            match &ledger {
                Some((_, version)) => writer.add_set_data(&path, data.as_bytes(), Some(*version)),
                None => {
                    let options = self.creation(CreateMode::Persistent);
                    writer.add_create(&path, data.as_bytes(), &options)
                }
            }
            .map_err(error::read)?;
            let sent = self.clock.now();
            match writer.commit().await {
                Ok(done) => {
                    if let Some(MultiWriteResult::SetData { stat }) = done.first() {
                        self.wrote(clock::time(stat.mtime), sent);
                    }
                    return Ok(ClaimAnswer::Claimed);
                }
                Err(CheckWriteError::CheckFailed {
                    source: Fault::NoNode,
                }) => return Ok(ClaimAnswer::NotOwner),
                Err(CheckWriteError::OperationFailed { source, .. }) => match source {
                    Fault::BadVersion | Fault::NodeExists => {}
                    Fault::NoNode => {
                        let parent = self.config.paths.schedules();
                        self.make_parents(client, parent, CreateMode::Persistent)
                            .await?;
                    }
                    source => return Err(error::write(source)),
                },
                Err(error) => return Err(error::write(error.into())),
            }
        }
        Err(restless(Outcome::DidNot))
    }

    pub(super) async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let path = self.config.paths.schedule(&held.name);
        for _ in 0..ATTEMPTS {
            let session = self.session()?;
            let Some((mut entry, version)) = self.read(&session, &path).await? else {
                return Ok(false);
            };
            if !entry.ends_with(end, held.token) {
                return Ok(false);
            }
            entry.end(end, self.now());
            let data = print(&entry);
            let sent = self.clock.now();
            let client = session.client();
            match client.set_data(&path, data.as_bytes(), Some(version)).await {
                Ok(stat) => {
                    self.wrote(clock::time(stat.mtime), sent);
                    return Ok(true);
                }
                Err(Fault::BadVersion) => {}
                Err(Fault::NoNode) => return Ok(false),
                Err(error) => return Err(error::write(error)),
            }
        }
        Err(restless(Outcome::DidNot))
    }
}

pub(super) fn print(entry: &LedgerEntry) -> String {
    let plan = utf8_percent_encode(&entry.plan, NON_ALPHANUMERIC);
    let state = entry.state.word();
    let mut text = format!(
        "plan={plan}\norigin={}\nlast_tick={}\ndue_at={}\ntoken={}\nstate={state}\n",
        entry.origin, entry.last_tick, entry.due_at, entry.token
    );
    if let Some(at) = entry.finished_at {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "finished_at={at}");
    }
    if let Some(note) = entry.note() {
        let _ = writeln!(text, "run={note}");
    }
    text
}

pub(super) fn parse(data: &[u8]) -> Option<LedgerEntry> {
    let text = std::str::from_utf8(data).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.strip_prefix('='))
    };
    let time = |key| Some(StoreTime::from_millis(value(key)?.parse().ok()?));
    let plan = percent_decode_str(value("plan")?).decode_utf8().ok()?;
    let claim = Claim::new(
        plan.as_ref(),
        time("origin")?,
        value("last_tick")?.parse().ok()?,
        time("due_at")?,
    );
    let token: FencingToken = value("token")?.parse().ok()?;
    let mut entry = LedgerEntry::claimed(&claim, token);
    entry.state = TickState::of_word(value("state")?)?;
    entry.finished_at = time("finished_at");
    // Earlier versions write none.
    Some(entry.with_note(value("run").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_read_as_it_was_written() {
        let at = StoreTime::from_millis;
        let claim = Claim::new("cron 0 = * %\nzone", at(1), 2, at(3));
        let mut entry = LedgerEntry::claimed(&claim, FencingToken::from_store(4).unwrap());
        assert_eq!(parse(print(&entry).as_bytes()).as_ref(), Some(&entry));
        entry.state = TickState::Failed;
        entry.finished_at = Some(at(5));
        assert_eq!(parse(print(&entry).as_bytes()).as_ref(), Some(&entry));
        entry.begun_at = Some(at(4));
        assert_eq!(parse(print(&entry).as_bytes()).as_ref(), Some(&entry));
        entry.end(&TickEnd::skipped(2), at(6));
        assert_eq!(parse(print(&entry).as_bytes()), Some(entry));
        assert_eq!(parse(b"anything else"), None);
    }
}
