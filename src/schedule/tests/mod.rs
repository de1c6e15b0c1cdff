//! The pure parts, without a runtime.

mod book;
mod cadence;
#[cfg(feature = "cron")]
mod cron;
#[cfg(feature = "cron")]
mod zones;
