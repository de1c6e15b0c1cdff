//! Who owns what, for a browser: a page and an API over a
//! [`Coordinator`](tenure::Coordinator).
//!
//! What there is to know:
//!
//! - [`status`]: a row for each mutex, which is also JSON.
//! - [`kinds`]: which of them are more than that.
//! - [`looks`]: looking at the store for all who ask, however long it takes.
//! - [`text`]: what others wrote, shown so that nothing in it hides.
//!
//! With the feature `http`, who is told of it:
//!
//! - `site`: the dashboard, from its port to its page.
//! - `page`: what the browser gets, joined from its parts.
//! - `looker`: the one task that looks, for however many pages.
//! - `board`, `history`: what it has seen, and what became of it.
//! - `api`, `events`, `revoke`: what the page asks for.
//! - `guard`, `host`, `login`: who may ask.
//! - `serve`, `patience`, `tls`: connections, and their limits.
//! - `probes`: the same server for what Prometheus and Kubernetes ask.

#[cfg(feature = "http")]
pub mod answer;
#[cfg(feature = "http")]
mod api;
#[cfg(feature = "http")]
mod board;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
mod guard;
#[cfg(feature = "http")]
mod history;
#[cfg(feature = "http")]
pub mod host;
pub mod kinds;
#[cfg(feature = "http")]
mod login;
#[cfg(feature = "http")]
mod looker;
pub mod looks;
#[cfg(feature = "http")]
mod named;
#[cfg(feature = "http")]
mod options;
#[cfg(feature = "http")]
mod page;
#[cfg(feature = "http")]
mod patience;
#[cfg(feature = "http")]
pub mod probes;
#[cfg(feature = "http")]
mod query;
#[cfg(feature = "http")]
mod revoke;
#[cfg(feature = "http")]
mod serve;
#[cfg(feature = "http")]
pub mod site;
pub mod status;
pub mod text;
#[cfg(feature = "http")]
mod tls;
