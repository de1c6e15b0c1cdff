//! Locks, electors and the queue under them, over the memory store.

mod basics;
mod elsewhere;
mod ending;
mod endings;
mod hand_over;
mod inspect;
mod leader;
mod linger;
mod once;
mod resigning;
mod slow_polls;
mod support;
mod troubles;
mod unclaimed;
