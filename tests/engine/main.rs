//! The engine through the public API: the ten promises, services, simulation.

mod many;
mod promises;
mod services;
mod simulation;
mod support;
