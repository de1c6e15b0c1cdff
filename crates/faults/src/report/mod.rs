//! What people read: timelines of what went wrong, tables of what was run.

mod page;
mod svg;
mod table;
mod text;

pub use page::page;
pub use svg::svg;
pub use table::{faults, stores, write_into};
pub use text::timeline;
