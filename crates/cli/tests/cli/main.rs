//! The real program, as processes.

mod contention;
mod data;
mod demo;
mod guardian;
mod lead;
mod run;
mod schedule;
mod signals;
mod stores;
mod support;
mod terminal;
