//! Combination locks against real servers.
#![cfg(feature = "redis")]

mod builder;
mod disjoint;
mod few;
mod holds;
mod majority;
mod renewal;
mod restart;
mod sequences;
mod stress;
mod support;
mod traces;
