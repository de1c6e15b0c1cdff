//! The real program, as processes.

mod contention;
mod data;
mod demo;
mod guardian;
mod lead;
mod run;
mod schedule;
mod signals;
mod support;
mod terminal;
