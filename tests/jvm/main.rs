//! One fleet of Rust and JVM processes, with the real libraries of the JVM.
//!
//! Not part of a normal run: `cargo xtask test --only jvm`. Maven brings the libraries.

mod curator;
mod machine;
mod ours;
mod redisson;
mod simba;
mod stories;
mod table;
mod turns;

tenure_testkit::peer_process!();
