//! The colours of the views; none where they are not wanted.

use ratatui::style::{Color, Modifier, Style};

/// What things look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    has_colour: bool,
    is_grey: bool,
}

impl Palette {
    /// As the environment wants it (`NO_COLOR`).
    pub(crate) fn new() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            has_colour: !unwanted,
            is_grey: false,
        }
    }

    /// The same for what may not be so any more: everything is dim.
    pub(crate) fn greyed(self) -> Self {
        Self {
            is_grey: true,
            ..self
        }
    }

    /// Only bold, dim and reversed.
    #[cfg(test)]
    pub(crate) fn without_colour() -> Self {
        Self {
            has_colour: false,
            is_grey: false,
        }
    }

    fn colour(self, colour: Color) -> Style {
        match (self.is_grey, self.has_colour) {
            (true, _) => self.quiet(),
            (false, true) => Style::new().fg(colour),
            (false, false) => Style::new(),
        }
    }

    /// What text looks like that is nothing else.
    pub(crate) fn text(self) -> Style {
        match self.is_grey {
            true => self.quiet(),
            false => Style::new(),
        }
    }

    pub(crate) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(crate) fn warning(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(crate) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A colour of its own for the `index`th of a few.
    pub(crate) fn one_of(self, index: usize) -> Style {
        const COLOURS: [Color; 4] = [Color::Cyan, Color::Magenta, Color::Blue, Color::Yellow];
        self.colour(COLOURS[index % COLOURS.len()])
    }

    /// How a lease looks of which this part, of 1, is left.
    pub(crate) fn left(self, part: f64) -> Style {
        match part {
            0.5.. => self.good(),
            0.25..0.5 => self.warning(),
            _ => self.bad(),
        }
    }
}
