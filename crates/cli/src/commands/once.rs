//! Once in a period: what the ledger says before a run, and what is written
//! after it.

use std::time::Duration;

use tenure::LockGuard;
use tenure::lock::{OpenTurn, Turn};

use crate::exit::{self, Failure, told};
use crate::output::{Voice, store_stamp};
use crate::supervise::End;

/// The holder's turn; `None`, and a word about it, when it has been done.
pub(super) async fn turn(
    guard: &LockGuard,
    period: Duration,
    voice: &Voice,
) -> Result<Option<OpenTurn>, Failure> {
    let before = match guard.once_per(period).await? {
        Turn::Ours(turn) => return Ok(Some(turn)),
        Turn::Done(before) => before,
    };
    voice.warn(&format_args!(
        "{} is already done: at {}, by {}, with token {}; not run again before {}",
        guard.tenure().mutex(),
        store_stamp(before.done_at),
        before.by,
        before.token,
        store_stamp(before.again_at)
    ));
    Ok(None)
}

/// Records how the command ended. One that was told to end may not have come
/// to its end, whatever it exited with: it stays open, and may be repeated.
pub(super) async fn record(turn: OpenTurn, end: &End, voice: &Voice) {
    if end.is_loss() || end.asked.is_some() {
        return;
    }
    let recorded = match exit::code_of(end.status) {
        // What is left of it may still be at it.
        0 if end.left.is_empty() => turn.done().await,
        _ => turn.failed().await,
    };
    match recorded {
        Ok(true) => {}
        Ok(false) => voice.warn(&"another has run it since: it may have been done twice"),
        Err(error) => voice.warn(&format_args!(
            "that it was done could not be recorded, and it will be run again: {}",
            told(&error)
        )),
    }
}
