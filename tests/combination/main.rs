//! Combination locks against real servers.
#![cfg(feature = "redis")]

mod absent;
mod after_crash;
mod aged;
mod builder;
mod contract;
mod disjoint;
mod endings;
mod examples;
mod few;
mod forgetful;
mod holds;
mod majority;
mod own_words;
mod renewal;
mod restart;
mod sequences;
mod sick;
mod stress;
mod support;
mod traces;
