//! The API for plain threads, over the memory store and real time.

mod elector;
mod lock;
mod scheduler;
mod service;
mod support;
