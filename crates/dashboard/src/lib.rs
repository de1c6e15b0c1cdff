//! Who owns what, for a browser: a small read-only server over a
//! [`Coordinator`](tenure::Coordinator).
//!
//! - [`status`]: what there is to know, as rows that are also JSON.
//! - [`looks`]: looking at the store for all who ask, however long it takes.
//! - [`host`]: by which names it may be called.
//! - [`http`]: a server just large enough for this.
//! - [`site`]: the page, and the paths that it asks for.
//! - [`text`]: what others wrote, shown so that nothing in it hides.

pub mod host;
pub mod http;
pub mod looks;
pub mod site;
pub mod status;
pub mod text;
