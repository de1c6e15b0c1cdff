//! The one primitive under the queue. A model checker compiles the queue with
//! another one in its place.

pub(super) use std::sync::Mutex;
