//! Reentrant locks: the holder of one may take it again.
//!
//! Who the holder is must be said. In [`blocking`](crate::blocking) it is the
//! thread, as with every reentrant lock of an operating system. Between two
//! awaits a task changes threads, so here it is a [`Holder`]: bound to a lock
//! by [`ReentrantLock::held_by`], or in force for everything that a future
//! calls, by [`Holder::scope`].
//!
//! Holds are counted in the process, and the outermost one is given back to
//! the store. The tasks of a process are served first come, first served;
//! among processes the one that comes first after an unlock wins.

mod guard;
mod holder;
mod holds;
mod lock;
mod options;

pub use guard::ReentrantGuard;
pub use holder::Holder;
pub(crate) use holds::ReentrantLocks;
pub use lock::ReentrantLock;
pub use options::ReentrantOptions;
