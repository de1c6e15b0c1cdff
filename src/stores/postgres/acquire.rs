//! Taking a mutex: one statement if it is free, two if it is refused or new.

use super::calls::{Granted, Take, TakeFree};
use super::dialect::Postgres;
use crate::backend::{Answer, Bid};
use crate::error::{Error, Outcome, Result};
use crate::model::{FencingToken, MutexOwner};
use crate::stores::sql::{Client, Find};

/// How often a refusal that shows no owner is looked at again: a race was lost
/// to an owner whom the statement's snapshot could not see.
const LOOKS: usize = 3;

pub(super) async fn acquire(client: &Client<Postgres>, bid: &Bid) -> Result<Answer> {
    let take = || client.ask(Take(bid.clone()));
    let find = || client.ask(Find(bid.name.clone()));
    if let Some(granted) = client.ask(TakeFree(bid.clone())).await? {
        return won(bid, &granted);
    }
    let mut taken = take().await?;
    let mut looks = 0;
    // Whether the row was shown by a statement that writes. What only reads may
    // be answered by a standby that lags, where a proxy sends it there.
    let mut is_proven = true;
    loop {
        // Refused, and no row: another first bid has just made it, after this
        // statement took its snapshot.
        let Some(row) = &taken.found.row else {
            if looks == LOOKS {
                return Client::<Postgres>::refused(&bid.name, taken.found);
            }
            looks += 1;
            taken = find().await?.into();
            is_proven = false;
            continue;
        };
        if taken.won {
            return row.won();
        }
        // Refused, and free: the row as it was before the winner whom the take
        // waited for, or one whose lease has just ended.
        if row.is_free() && looks < LOOKS {
            looks += 1;
            // Seen free by a fresh look, it is free to take.
            is_proven = looks > 1;
            taken = if is_proven {
                take().await?
            } else {
                find().await?.into()
            };
            continue;
        }
        // An answer that was lost: the nonce says whose grant it is.
        let is_ours = row.nonce == bid.nonce.to_string();
        if is_ours && !row.is_free() && row.owner_id == bid.contender.as_str() {
            if is_proven {
                return row.won();
            }
            is_proven = true;
            taken = take().await?;
            continue;
        }
        return Client::<Postgres>::refused(&bid.name, taken.found);
    }
}

/// The answer to a bid that met a free row, by what the row has now: a trigger may
/// have changed what was written.
fn won(bid: &Bid, granted: &Granted) -> Result<Answer> {
    let at = granted.at;
    let end = granted.ends_at.min(at + bid.terms.lease());
    // Granted, and of no use: the caller must undo it.
    let token = FencingToken::from_store(granted.version).map_err(|error| {
        Error::new(error.kind(), Outcome::MayHave).with_message(error.to_string())
    })?;
    let ttl_at = end.min(at + bid.terms.ttl());
    let owner = MutexOwner::new(bid.contender.clone(), at, ttl_at, end).with_token(token);
    Ok(Answer::won(owner, at))
}
