//! The engine through the public API: the ten promises, services, simulation.

mod clock_jumps;
mod many;
mod promises;
mod services;
mod simulation;
mod support;
