//! The engine through the public API: the ten promises, services, simulation.

mod promises;
mod services;
mod simulation;
mod support;
