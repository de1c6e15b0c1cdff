//! Who owns what, for a browser: a small read-only server over a
//! [`Coordinator`](tenure::Coordinator).
//!
//! - [`status`]: what there is to know, as rows that are also JSON.
//! - [`http`]: a server just large enough for this.
//! - [`site`]: the page, and the paths that it asks for.

pub mod http;
pub mod site;
pub mod status;
