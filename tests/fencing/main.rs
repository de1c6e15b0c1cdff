//! The texts of `docs/fencing.md`, as they stand there, on the real servers.

mod mariadb;
mod postgres;
mod redis;
mod snippets;
mod sqlite;

/// What an old and a new owner carry; they differ in a digit that a 64-bit
/// float does not have.
const OLD: &str = "9007199254740992";
const NEW: &str = "9007199254740993";
