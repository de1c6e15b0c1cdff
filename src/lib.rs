#![doc = include_str!("../README.md")]

pub mod backend;
pub mod clock;
mod error;
pub mod model;
pub mod stores;

pub use error::{Error, ErrorKind, LeaseLost, LossCause, Outcome, Result, Retry};
