//! Renewing a batch: an UPDATE that says how many rows it reached, and a look
//! at the rows when it did not reach all.

use std::sync::Arc;

use super::calls::{Renew, millis};
use super::dialect::MySql;
use crate::backend::{Answer, Held};
use crate::error::Result;
use crate::model::{MutexOwner, StoreTime};
use crate::stores::sql::{Client, FindMany, Passed, extended};

pub(super) async fn renew(client: &Client<MySql>, some: &Arc<[Held]>) -> Result<Vec<Passed>> {
    let renewed = client.ask_urgently(Renew(Arc::clone(some))).await?;
    match renewed.at {
        Some(now) if renewed.rows == some.len() as u64 => {
            let extended = |held: &Held| {
                let end = now + held.terms.lease();
                Passed::Answered(Ok(extended(held, now, end)))
            };
            Ok(some.iter().map(extended).collect())
        }
        at => which(client, some, at).await,
    }
}

/// The UPDATE does not say which rows it reached, and one that it did not reach
/// is lost or merely locked: which of `some` were renewed, if any were `at` a time, which are lost, and
/// which were there but could not be had.
async fn which(
    client: &Client<MySql>,
    some: &[Held],
    at: Option<StoreTime>,
) -> Result<Vec<Passed>> {
    let names = some.iter().map(|held| held.name.clone()).collect();
    let rows = client.ask_urgently(FindMany(names)).await?.rows;
    let about_now = client.about_now();
    let passed = some.iter().map(|held| {
        let row = rows.iter().find(|row| row.mutex == held.name.as_str());
        let Some(row) = row else {
            return Passed::Answered(Ok(Answer::refused(MutexOwner::NONE, about_now)));
        };
        let same = row.owner_id == held.contender.as_str() && row.version == held.token.store();
        if !same || row.is_free() {
            let owner = row.owner();
            return Passed::Answered(owner.map(|owner| Answer::refused(owner, row.now())));
        }
        // Renewed rows last from the time of the statement, or later.
        let lasts_from = row.transition_at.saturating_sub(millis(held.terms.lease()));
        if at.is_some_and(|at| lasts_from >= at.as_millis()) {
            Passed::Answered(row.won())
        } else {
            Passed::Skipped
        }
    });
    Ok(passed.collect())
}
