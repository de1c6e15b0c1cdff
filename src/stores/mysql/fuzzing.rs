//! Rows as a fuzzer makes them up, read as the clients of both databases read them. For
//! crates/fuzz alone.

use std::hint::black_box;

use super::purpose;
use super::stamp::Stamp;
use crate::backend::LedgerEntry;
use crate::model::StoreTime;
use crate::stores::sql::{LedgerRow, Row, text};

/// Reads a row of the mutex table: acquired, ttl, transition, version and the server's
/// time, then name, owner and nonce.
pub fn row(numbers: [u64; 5], texts: [&[u8]; 3]) {
    let [acquired_at, ttl_at, transition_at, version, now] = numbers;
    let [mutex, owner_id, nonce] = texts.map(|bytes| text(Some(bytes)));
    let row = Row {
        mutex,
        owner_id,
        acquired_at,
        ttl_at,
        transition_at,
        version,
        nonce,
        purpose: purpose::read(ttl_at, acquired_at),
        now,
    };
    let owner = row.owner();
    if let Ok(owner) = &owner {
        assert_eq!(owner.owner_id().is_some(), !row.is_free(), "{row:?}");
    }
    if let Ok(won) = row.won() {
        // What is believed is what the row says.
        let left = won.owner().remaining(won.now()).unwrap_or_default();
        assert!(left <= row.left(), "{left:?} of {row:?}");
    }
    black_box(format!("{:?} {:?}", row.fault(), row.entry(owner)));
}

/// Reads the number that a take leaves, by a clock that was last heard at `about`.
pub fn stamp(id: u64, about: u64) {
    if let Ok(stamp) = Stamp::new(id) {
        black_box(stamp.near(StoreTime::from_millis(about)));
    }
}

/// Reads a row of the table of ledgers: origin, tick, due, token, finished, then plan,
/// state and note.
pub fn ledger(numbers: [u64; 5], texts: [&[u8]; 3]) -> Option<LedgerEntry> {
    let [origin, last_tick, due_at, token, finished_at] = numbers;
    let [plan, state, run] = texts.map(|bytes| text(Some(bytes)));
    let row = LedgerRow {
        plan,
        origin,
        last_tick,
        due_at,
        token,
        state,
        finished_at: (finished_at > 0).then_some(finished_at),
        run: (!run.is_empty()).then_some(run),
    };
    row.entry().ok()
}
