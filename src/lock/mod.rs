//! Locks: one owner at a time, for as long as a guard lives.
//!
//! Tasks of one process that want the same name stand in one local
//! [queue](crate::queue); only its head asks the store, and an owner may hand
//! the lock over to the next waiter without asking the store at all, within
//! bounds, each time under a larger token.
//!
//! | to | use |
//! | --- | --- |
//! | wait for it, for ever or for a while | [`Lock::acquire`], [`Lock::acquire_within`] |
//! | try once | [`Lock::try_acquire`] |
//! | stop work at the loss | [`LockGuard::protect`], [`LockGuard::lost`] |
//! | let the resource refuse what a lost owner writes late | [`LockGuard::token`] and a [`Fence`] at the resource |
//! | survive work that hangs | [`LockOptions::with_max_hold`] |
//! | do a thing once a day, in the process that comes first | [`Lock::once_per`], [`LockGuard::once_per`] |
//! | keep the lock for a while after short work | [`LockOptions::with_at_least_for`] |
//! | take it again and again in one process | [`LockOptions::with_linger`] |
//! | let other processes in more often | [`HandOver`] |
//! | take it again inside, in code that may or may not hold it | [`ReentrantLock`] |
//! | survive the death of a Redis server without fail-over | [`CombinationLock`](crate::CombinationLock) |
//!
//! A guard is renewed in the background while it lives and given back when it
//! is dropped. When the store cannot be reached in time, or gives the lock to
//! another, the guard is lost: it knows by its own clock, before another can
//! own. A lost guard bars neither other processes nor the tasks of its own.
//!
//! Taking and freeing a lock that no other wants costs one call to the
//! store each; waiting costs none between two wake-ups.

mod fence;
mod guard;
mod hand_over;
mod local_queue;
#[expect(clippy::module_inception)] // The home of `Lock` itself.
mod lock;
mod locks;
mod of_tenure;
mod once;
mod options;
pub mod reentrant;
mod word;

pub use fence::{Fence, StaleToken};
pub use guard::LockGuard;
pub use lock::Lock;
pub(crate) use locks::{Ids, Locks};
pub use once::{DoneBefore, GuardedTurn, OpenTurn, Turn};
pub use options::{HandOver, LockOptions};
pub use reentrant::{Holder, ReentrantGuard, ReentrantLock, ReentrantOptions};
