//! The contention of one contender for one mutex, as a pure state machine:
//! state and event in, state and effects out. No clock, no I/O, no waiting.
//!
//! ```text
//!            ┌───────────────── the next tenure ─────────────────┐
//!            ▼                                                   │
//! Resting ▶ Bidding ──won──▶ Owning ──lost──▶ Quieting ────▶ Freeing ▶ Finished
//!            ▲ └────────────────── stopped ────────────────────▶ │
//!            └── the user is back ── Idle ◀── the user is away ──┘
//! ```
//!
//! Each state is a value that owns its transitions: an event consumes it and
//! gives the next one. What stays the same from state to state is in
//! [`Course`](machine::Course).
//!
//! The moment handed to [`Machine::on`] is read before its effects are carried
//! out, so it is also the `sent_at` of every call that starts there: leases
//! are counted from it, never from an answer.

mod bidding;
mod freeing;
#[expect(clippy::module_inception)] // The home of `Machine` itself.
mod machine;
mod owning;
mod quieting;

pub(crate) use machine::{Machine, keep_for_the_next};
