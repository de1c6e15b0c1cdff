//! The real program, as processes.

mod contention;
mod data;
mod demo;
mod guardian;
mod lead;
mod run;
mod signals;
mod support;
mod terminal;
