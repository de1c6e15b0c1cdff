//! The competitor queue: by example, and under a model checker.
//!
//! `queue` below is the very file that the library is built from, compiled
//! over a mutex that lets the checker choose every interleaving.

mod model;
mod story;
mod world;

#[path = "../../src/queue/queue.rs"]
#[allow(dead_code, unreachable_pub)] // A file of the library, in another home.
mod queue;

mod sync {
    pub(crate) use shuttle::sync::Mutex;
}
