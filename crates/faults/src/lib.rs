//! Real servers are broken under real processes, from a seed, and judges look at what the
//! processes saw.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`worker`] | a process that locks, leads, schedules, by the public API only, and tells what it sees |
//! | [`register`] | what the locks protect: one resource that checks tokens, and one that does not |
//! | [`fleet`] | the workers, killed, stopped and begun again |
//! | [`topology`] | the stores, and what can happen to each of them |
//! | [`nemesis`], `habits` | what happens when, from a seed; what happens by workers that are otherwise |
//! | [`progress`] | how far the workers have come since |
//! | [`sight`] | what is seen of the workers meanwhile, for faults that wait for it |
//! | [`mod@slice`] | one run: all of the above, for a minute |
//! | [`judge`] | whether what was promised held |
//! | [`second`] | a judge that was written elsewhere, on the same histories |
//! | [`results`], [`report`] | what all runs came to |
//! | [`undone`] | bugs of the past, put back: the suite must find them |
//!
//! `cargo xtask faults` runs it; crates/faults/README.md has what was found.

pub mod args;
pub mod fleet;
mod habits;
pub mod judge;
pub mod log;
pub mod nemesis;
pub mod progress;
pub mod register;
pub mod report;
pub mod results;
pub mod second;
pub mod sight;
pub mod slice;
pub mod topology;
pub mod undone;
pub mod worker;
