//! Every public future, dropped after every number of polls and while it waits, in
//! every kind of trouble: nothing is left behind, not in the local line, not in the store's
//! queue, not as an owner, and the next one gets the lock promptly.

#![allow(clippy::async_yields_async, clippy::large_futures)] // they are polled by hand, once each

mod coordinator;
mod cut;
mod leader;
mod lock;
mod reentrant;
mod service;
mod world;
