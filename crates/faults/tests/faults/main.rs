//! The judges on histories made by hand, and a short run on some stores.

mod bad;
mod short;
