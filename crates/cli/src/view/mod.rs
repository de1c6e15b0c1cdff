//! Live views on a terminal.

mod palette;
mod screen;

pub(crate) use palette::Palette;
pub(crate) use screen::{Screen, asked_to_quit};
