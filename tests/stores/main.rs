//! The contract over every store, and what only one store has.

mod memory;
mod parts;
