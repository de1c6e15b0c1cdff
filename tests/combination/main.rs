//! Combination locks against real servers.
#![cfg(feature = "redis")]

mod aged;
mod builder;
mod contract;
mod disjoint;
mod examples;
mod few;
mod holds;
mod majority;
mod renewal;
mod restart;
mod sequences;

mod stress;
mod support;
mod traces;
