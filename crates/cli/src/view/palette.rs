//! The colours of the views; none where they are not wanted.

use ratatui::style::{Color, Modifier, Style};

/// What things look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    has_colour: bool,
}

impl Palette {
    /// As the environment wants it (`NO_COLOR`).
    pub(crate) fn new() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            has_colour: !unwanted,
        }
    }

    /// Only bold, dim and reversed.
    #[cfg(test)]
    pub(crate) fn without_colour() -> Self {
        let has_colour = false;
        Self { has_colour }
    }

    fn colour(self, colour: Color) -> Style {
        let style = Style::new();
        if self.has_colour {
            style.fg(colour)
        } else {
            style
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
