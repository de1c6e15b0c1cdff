//! What people see of a running program: events and spans for `tracing`, and
//! metrics where the feature `metrics` is on. `docs/operations.md` lists all of
//! them.
//!
//! | file | what it is |
//! | --- | --- |
//! | `subject` | whom an event is about |
//! | `story` | the events of one contention's life |
//! | `spans` | the spans of waiting and of holding |
//! | `meters`, `no_meters` | the metrics, and the same without the feature |
//! | `names` | the names of the metrics |
//! | `waits` | one acquisition that is counted |
//!
//! Only names, ids, tokens and the words of errors are told: no value of a
//! store's options can come here. Nothing is formatted or allocated
//! that no subscriber listens to.

#[cfg_attr(not(feature = "metrics"), path = "no_meters.rs")]
mod meters;
#[cfg(feature = "metrics")]
mod names;
mod spans;
pub(crate) mod story;
mod subject;
mod waits;

pub(crate) use meters::{Meters, NameMeters};
pub(crate) use spans::Spans;
pub(crate) use subject::Subject;
pub(crate) use waits::Waits;
