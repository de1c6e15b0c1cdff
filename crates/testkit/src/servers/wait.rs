//! Waiting for a condition instead of sleeping for luck.

use std::thread;
use std::time::{Duration, Instant};

use super::error::ServerError;

/// How long anything may take. Generous: a loaded machine is no failure.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Asks every few milliseconds until the answer is `Ok`; after [`LIMIT`] the last answer is the
/// error.
pub fn until<T, E: std::fmt::Display>(
    what: &str,
    mut ask: impl FnMut() -> Result<T, E>,
) -> Result<T, ServerError> {
    let end = Instant::now() + LIMIT;
    let mut pause = Duration::from_millis(2);
    loop {
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(why) if Instant::now() > end => {
                return Err(ServerError::new(format!(
                    "{what}: not within {LIMIT:?}: {why}"
                )));
            }
            Err(_) => thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// [`until`] for a plain condition.
pub fn until_true(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), ServerError> {
    until(what, || if holds() { Ok(()) } else { Err("still not so") })
}
