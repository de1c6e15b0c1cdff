//! The screen of a terminal, taken for a while and given back as it was.

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// What the terminal was like before; `Some` while the screen is taken. One for
/// the program, which has one terminal: a panic must find it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static RESTORE_AT_PANIC: Once = Once::new();

/// The whole screen. Dropped, the terminal is as it was.
#[derive(Debug)]
pub(crate) struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    /// Whether there is a screen on stdout that a view may take.
    pub(crate) fn is_there() -> bool {
        let stdout = io::stdout();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        // In the background the terminal is another program's.
        stdout.is_terminal()
            && !is_dumb
            && tcgetpgrp(&stdout).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Takes it.
    pub(crate) fn take() -> io::Result<Self> {
        RESTORE_AT_PANIC.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                report(panic);
            }));
        });
        let before = tcgetattr(io::stdout())?;
        let mut quiet = before.clone();
        // Ctrl-C stays a signal. Ctrl-Z would leave the shell with our screen.
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        quiet.special_codes[SpecialCodeIndex::VSUSP] = 0;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let taken = tcsetattr(io::stdout(), OptionalActions::Now, &quiet)
            .map_err(io::Error::from)
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        if taken.is_err() {
            give_back();
        }
        taken.map(Self)
    }

    /// Draws all of it, in whatever size it has now.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.take() {
        let mut stdout = io::stdout();
        let _ = execute!(stdout, Show, LeaveAlternateScreen);
        let _ = stdout.flush();
        // What was typed meanwhile was not meant for the shell.
        let _ = tcsetattr(stdout, OptionalActions::Flush, &before);
    }
}
