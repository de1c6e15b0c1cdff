//! Renewing a batch: one statement that answers for each grant.

use super::calls::{Renew, Said};
use super::dialect::Postgres;
use crate::backend::Held;
use crate::error::Result;
use crate::stores::sql::{Client, Passed};

pub(super) async fn renew(client: &Client<Postgres>, some: &[Held]) -> Result<Vec<Passed>> {
    let said = client.ask_urgently(Renew(some.to_vec())).await?;
    // Two rows of one name would shift the answers: then none of them counts.
    if said.len() != some.len() {
        return Ok(Vec::new());
    }
    Ok(said.into_iter().zip(some).map(passed).collect())
}

fn passed((said, held): (Said, &Held)) -> Passed {
    match &said.found.row {
        Some(row) if said.won => Passed::Answered(row.won()),
        // The grant was there when the statement began, and the row could not
        // be had: another transaction holds it, or has just written it.
        Some(row)
            if row.version == held.token.store()
                && row.owner_id == held.contender.as_str()
                && row.nonce == held.nonce.to_string()
                && !row.is_free() =>
        {
            Passed::Skipped
        }
        _ => Passed::Answered(Client::<Postgres>::refused(&held.name, said.found)),
    }
}
