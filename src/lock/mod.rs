//! Locks: one owner at a time, for as long as a guard lives.
//!
//! Tasks of one process that want the same name stand in one local line; only
//! its head asks the store, and a holder may pass the lock on to the next in
//! line without asking the store at all, within bounds, each time under a
//! larger token.

mod estate;
mod fence;
mod guard;
mod hub;
mod options;
pub mod queue;
mod sync;
mod waiting;

pub use fence::{Fence, StaleToken};
pub use guard::LockGuard;
pub(crate) use hub::Hub;
pub use hub::Lock;
pub use options::{HandOver, LockOptions};
