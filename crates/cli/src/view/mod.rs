//! Live views on a terminal.

mod keys;
mod palette;
mod screen;

pub(crate) use keys::{Key, Keys, asked_to_quit};
pub(crate) use palette::Palette;
pub(crate) use screen::Screen;
