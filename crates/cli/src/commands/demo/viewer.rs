//! For whom the demo is played: lines for a pipe, a view for a screen.

use super::picture::{Note, Picture};
use crate::output;

/// Who watches.
#[derive(Debug)]
pub(super) enum Viewer {
    /// Reads lines, each when it happens.
    Reader,
    /// Watches a screen.
    #[cfg(feature = "views")]
    Watcher(super::live::Live),
}

impl Viewer {
    /// Whoever is at the other end of stdout.
    pub(super) fn at_stdout() -> Self {
        #[cfg(feature = "views")]
        if let Some(live) = super::live::Live::begin() {
            return Self::Watcher(live);
        }
        Self::Reader
    }

    /// Whether somebody has to follow with their eyes.
    pub(super) fn is_watching(&self) -> bool {
        !matches!(self, Self::Reader)
    }

    pub(super) fn told(&mut self, note: &Note) {
        if !self.is_watching() {
            output::data(note);
        }
    }

    /// Shows what there is to see now.
    #[cfg_attr(not(feature = "views"), allow(unused_variables))]
    pub(super) fn shown(&mut self, picture: &Picture) {
        match self {
            Self::Reader => {}
            #[cfg(feature = "views")]
            Self::Watcher(live) => live.show(picture),
        }
    }
}
