//! The engine through the public API: promises, services, simulation.

mod services;
