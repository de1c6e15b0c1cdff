//! Renewing a batch: one statement that answers which were renewed, and one that
//! answers for each of the others.

use std::sync::Arc;

use super::calls::{Renew, RenewEach, Renewed, Said};
use super::dialect::Postgres;
use crate::backend::Held;
use crate::error::Result;
use crate::stores::sql::{Client, Passed, extended};

pub(super) async fn renew(client: &Client<Postgres>, some: &Arc<[Held]>) -> Result<Vec<Passed>> {
    let renewed = client.ask_urgently(Renew(Arc::clone(some))).await?;
    // Two rows of one name: then none of them counts.
    let Some(is_renewed) = which(&renewed, some.len()) else {
        return Ok(Vec::new());
    };
    let rest = some.iter().zip(&is_renewed);
    let rest = rest.filter(|(_, is_renewed)| !**is_renewed);
    let rest: Arc<[Held]> = rest.map(|(held, _)| held.clone()).collect();
    let mut others = renew_each(client, &rest).await?.into_iter();
    let answers = some.iter().zip(is_renewed).map_while(|(held, is_renewed)| {
        if !is_renewed {
            return others.next();
        }
        // A trigger may have shortened one of them.
        let end = renewed.ends_at.min(renewed.at + held.terms.lease());
        Some(Passed::Answered(Ok(extended(held, renewed.at, end))))
    });
    Ok(answers.collect())
}

/// Which of `count` were renewed; `None` when one was twice.
fn which(renewed: &Renewed, count: usize) -> Option<Vec<bool>> {
    let mut all = vec![false; count];
    let places = renewed.places.iter().flat_map(|places| places.split(','));
    for place in places {
        let place: usize = place.parse().ok()?;
        let is_renewed = all.get_mut(place.checked_sub(1)?)?;
        if std::mem::replace(is_renewed, true) {
            return None;
        }
    }
    Some(all)
}

/// Those that others hold or own, as a rule, though some may be renewed by now.
async fn renew_each(client: &Client<Postgres>, some: &Arc<[Held]>) -> Result<Vec<Passed>> {
    if some.is_empty() {
        return Ok(Vec::new());
    }
    let said = client.ask_urgently(RenewEach(Arc::clone(some))).await?;
    // Two rows of one name would shift the answers: then none of them counts.
    if said.len() != some.len() {
        return Ok(Vec::new());
    }
    Ok(said.into_iter().zip(&**some).map(passed).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StoreTime;

    fn of(places: &str) -> Option<Vec<bool>> {
        let (at, ends_at) = (StoreTime::from_millis(1), StoreTime::from_millis(2));
        let places = (!places.is_empty()).then(|| places.to_owned());
        let renewed = Renewed {
            at,
            ends_at,
            places,
        };
        which(&renewed, 3)
    }

    #[test]
    fn places_tell_which_were_renewed() {
        assert_eq!(of(""), Some(vec![false; 3]));
        assert_eq!(of("3,1,2"), Some(vec![true; 3]));
        assert_eq!(of("2"), Some(vec![false, true, false]));
        for odd in ["1,1", "4", "0", "1,,2", "x"] {
            assert_eq!(of(odd), None, "{odd:?}");
        }
    }
}
