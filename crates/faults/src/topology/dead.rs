//! Waiters that died in Redis's queue, many at a time.

use std::time::Duration;

use tenure_testkit::servers::{Redis, ServerError};

use super::{Cost, Mishap, Scene};
use crate::fleet::Fleet;
use crate::habits::{LED, begin_leader, leader};
use crate::judge::Kind;

/// For which mutex they waited.
const NAME: &str = "lock";

/// How many there are.
const DEAD: usize = 6_000;

/// How many of them one call of a script may clear away: no other client is served meanwhile.
const A_CALL: usize = 16;

/// How many of them died while one owner stayed.
const BEHIND: usize = 1_000;

/// Within this they are gone: usually within a second, or once a waiter has looked, which each does
/// every two seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// They are cleared away soon, and a few at a time.
pub(super) fn thousands(server: &Redis) -> Mishap<'_> {
    Mishap::new("thousands of dead waiters", move |scene| {
        clear(server, scene)
    })
    .costing(Cost::Company)
}

/// Those who look clear them away, though nothing is freed.
pub(super) fn behind_an_owner<'a>(server: &'a Redis, fleet: &'a Fleet) -> Mishap<'a> {
    Mishap::new("dead waiters behind an owner that stays", move |scene| {
        let at = begin_leader(fleet, scene)?;
        let since = scene.log.now();
        let cleared = insert(server, LED, BEHIND).and_then(|()| {
            // As those leave them that have looked for the last time long ago.
            add(server, LED, "seen", BEHIND, |_| "1000".to_owned())?;
            Ok(is_clear(server, scene, LED, BEHIND))
        });
        let stayed = leader(scene, since).is_none();
        fleet.kill(at);
        match cleared? {
            Some(left) if stayed => {
                let message = format!(
                    "{left} of {BEHIND} dead waiters were left after {PATIENCE:?}, while one owned"
                );
                scene.log.find(Kind::LeftBehind, LED, since, message);
                Ok(())
            }
            _ if stayed => Ok(()),
            _ => Err(ServerError::new("it led no more")),
        }
    })
    .costing(Cost::Company)
}

/// Puts so many at the head of the queue.
fn insert(server: &Redis, name: &str, number: usize) -> Result<(), ServerError> {
    add(server, name, "contender", number, |at| format!("{at}.5"))
}

/// Adds so many of them to one of the two sets in which waiters are, each with its score.
fn add(
    server: &Redis,
    name: &str,
    set: &str,
    number: usize,
    score: impl Fn(usize) -> String,
) -> Result<(), ServerError> {
    let mut words = vec!["ZADD".to_owned(), format!("simba:{{{name}}}:{set}")];
    words.extend((0..number).flat_map(|at| [score(at), format!("dead-{at}")]));
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    server.command(&words)?;
    Ok(())
}

/// How many are left once they should be gone; none if they are.
fn is_clear(server: &Redis, scene: &Scene<'_>, name: &str, number: usize) -> Option<String> {
    let key = format!("simba:{{{name}}}:contender");
    // Those that live have later scores.
    let last = format!("({number}");
    let left = || server.command(&["ZCOUNT", &key, "-inf", &last]);
    let is_clear = || left().is_ok_and(|left| left.trim() == "0");
    match scene.until(PATIENCE, is_clear) {
        true => None,
        false => Some(left().unwrap_or_else(|error| error.to_string())),
    }
}

fn clear(server: &Redis, scene: &mut Scene<'_>) -> Result<(), ServerError> {
    let since = scene.log.now();
    let before = calls(server)?;
    insert(server, NAME, DEAD)?;
    let left = is_clear(server, scene, NAME, DEAD);
    let calls = calls(server)? - before;
    if let Some(left) = left {
        let message = format!("{left} of {DEAD} dead waiters were left after {PATIENCE:?}");
        scene.log.find(Kind::LeftBehind, NAME, since, message);
    } else if calls * A_CALL < DEAD {
        let message =
            format!("{DEAD} dead waiters were cleared away by no more than {calls} calls");
        scene.log.find(Kind::LeftBehind, NAME, since, message);
    }
    Ok(())
}

/// How many scripts were called so far, by all.
fn calls(server: &Redis) -> Result<usize, ServerError> {
    let stats = server.command(&["INFO", "commandstats"])?;
    let of = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name));
        let calls = line.and_then(|line| line.split(',').next()?.parse().ok());
        calls.unwrap_or(0)
    };
    Ok(of("cmdstat_evalsha:calls=") + of("cmdstat_eval:calls="))
}
