//! Locks, electors and the queue under them, over the memory store.

mod basics;
mod hand_over;
mod leader;
mod support;
