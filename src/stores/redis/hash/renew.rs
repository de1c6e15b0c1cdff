//! Renewing many holds in few calls.

use redis::Value;

use super::super::client::Redis;
use super::super::error::nonsense;
use super::super::renew::{in_batches, send};
use super::super::reply::{millis, owner, parts, read_time, read_word, text};
use super::super::scripts::Lua;
use super::super::server::Manner;
use super::names;
use crate::backend::{Answer, Held};
use crate::error::{Error, ErrorKind, Outcome, Result};

pub(super) async fn renew(redis: &Redis, held: &[Held]) -> Vec<Result<Answer>> {
    in_batches(redis, held, |held| names::key(&held.name), ask).await
}

async fn ask(redis: Redis, held: Vec<Held>, manner: Manner) -> Result<Vec<Result<Answer>>> {
    let keys: Vec<String> = held
        .iter()
        .flat_map(|held| names::both(&held.name))
        .collect();
    let owned: Vec<String> = held
        .iter()
        .flat_map(|held| {
            let expiry = millis(held.terms.lease());
            let (holder, token) = (held.contender.to_string(), held.token.store());
            [holder, token.to_string(), expiry.to_string()]
        })
        .collect();
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    let call = Lua::HoldKeep.call(&keys, &arguments);
    send(&redis, &call, &held, &manner, read).await
}

fn read(value: Value, held: &[Held]) -> Result<Vec<Result<Answer>>> {
    let parts = parts(value)?;
    let Some((now, words)) = parts
        .split_first()
        .filter(|(_, w)| w.len() == held.len() * 2)
    else {
        return Err(nonsense("a renewal's answer of another length"));
    };
    let now = read_time(&text(now)?)?;
    let one = |(held, pair): (&Held, &[Vec<u8>])| -> Result<Answer> {
        let [what, word] = pair else {
            return Err(nonsense("half an answer"));
        };
        // Each by itself: what is no text in one must not end the others.
        let (what, word) = (&text(what)?, &text(word)?);
        if what == "error" {
            return Err(Error::new(ErrorKind::Conflict, Outcome::DidNot)
                .with_mutex(&held.name)
                .with_message(format!("the key of this lock holds something else: {word}")));
        }
        let word = read_word(word)?;
        if what != "won" {
            return Ok(Answer::refused(owner(&word, None, now, None)?, now));
        }
        Ok(Answer::won(
            owner(&word, Some(held.token.store()), now, Some(&held.terms))?,
            now,
        ))
    };
    Ok(held.iter().zip(words.chunks(2)).map(one).collect())
}
