//! The machine alone, and many of them in a simulated world.

mod closing;
mod fork;
mod machine;
mod sim;
mod tenure;
