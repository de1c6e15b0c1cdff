//! The pure parts, without a runtime.

mod cadence;
#[cfg(feature = "cron")]
mod cron;
mod ledger_view;
#[cfg(feature = "cron")]
mod zones;
