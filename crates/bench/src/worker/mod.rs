//! A process that takes and frees locks of one kind when it is told to.
//!
//! It is this program, started again, so that what is measured shares neither runtime nor memory
//! with what measures. It reads [`Command`]s from its standard input, a line each, and answers
//! each with a line of numbers. It ends with its input, so none outlives the program.

mod clock;
mod command;
mod process;
mod serve;

pub use clock::now;
pub use command::Command;
pub use process::{Place, Worker};
pub use serve::main;

/// The word that makes the program a worker.
pub const WORD: &str = "worker";
