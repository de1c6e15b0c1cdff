//! The judges on histories made by hand and on those of stores that are broken, clocks that drift,
//! and a short run on some stores.

mod bad;
mod drift;
mod flaws;
mod others;
mod short;
mod stuck;
mod undone;
