//! The tenure program.
fn main() {}
