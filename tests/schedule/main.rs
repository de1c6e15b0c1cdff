//! Schedules over the memory store, on virtual time.

mod cadence;
mod clocks;
mod fail_over;
mod first;
mod late;
mod life;
mod mortal;
mod plans;
mod simulation;
mod support;
mod upcoming;
