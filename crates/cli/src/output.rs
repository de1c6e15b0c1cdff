//! Words for people go to stderr; stdout belongs to the command or the data.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use serde::Serialize;

/// How a command's data is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Tables and sentences.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// What is said on stderr.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    level: i8,
    colour: bool,
    /// Whether a person may be watching.
    pub(crate) is_watched: bool,
}

impl Voice {
    pub(crate) fn new(quiet: bool, verbose: u8) -> Self {
        let is_watched = std::io::stderr().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            level: if quiet {
                -1
            } else {
                i8::try_from(verbose).unwrap_or(2)
            },
            colour: is_watched && !no_colour && !dumb,
            is_watched,
        }
    }

    /// Why the program ends badly: always said.
    pub(crate) fn error(&self, message: &dyn Display) {
        self.line("31;1", message);
    }

    /// What a person should know.
    pub(crate) fn warn(&self, message: &dyn Display) {
        if self.level >= 0 {
            self.line("33", message);
        }
    }

    /// Whether somebody asked for details.
    pub(crate) fn is_detailed(&self) -> bool {
        self.level >= 1
    }

    /// What a person who asked for it may want to know.
    pub(crate) fn detail(&self, message: &dyn Display) {
        if self.is_detailed() {
            self.line("2", message);
        }
    }

    /// A line that the next one replaces; only where a person watches.
    pub(crate) fn passing(&self, message: &str) {
        if self.level >= 0 && self.is_watched {
            // One that wraps could not be replaced.
            let width = rustix::termios::tcgetwinsize(std::io::stderr());
            let width = width.map_or(0, |size| usize::from(size.ws_col));
            let room = if width == 0 { 80 } else { width } - 1;
            let message: String = message.chars().take(room).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{message}");
        }
    }

    fn line(&self, paint: &str, message: &dyn Display) {
        // A reader that went away must not end what we are doing.
        let mut stderr = std::io::stderr().lock();
        let _ = if self.colour {
            writeln!(stderr, "\x1b[{paint}mtenure:\x1b[0m {message}")
        } else {
            writeln!(stderr, "tenure: {message}")
        };
    }
}

/// How wide the terminal on stdout is, if there is one.
pub(crate) fn columns() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0 && stdout.is_terminal())
}

/// Writes one line of data; false when nobody reads any more.
pub(crate) fn data(line: &dyn Display) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .is_ok()
}

/// Writes one JSON object as a line; false when nobody reads any more.
pub(crate) fn json(value: &impl Serialize) -> bool {
    let text = serde_json::to_string(value).expect("our own values are JSON");
    data(&text)
}

/// A length of time as a person says it: `250ms`, `3.2s`, `4m 10s`.
pub(crate) fn brief(length: Duration) -> String {
    let millis = length.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        _ => humantime::format_duration(Duration::from_secs(length.as_secs())).to_string(),
    }
}

/// Text that others wrote, without what a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A moment of the wall clock, for people and logs.
pub(crate) fn stamp(at: std::time::SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_command_the_terminal() {
        assert_eq!(plain("a\x1b[2Jé\n"), r"a\u{1b}[2Jé\n");
    }

    #[test]
    fn lengths_of_time_are_short_to_read() {
        let told = |millis| brief(Duration::from_millis(millis));
        assert_eq!(told(0), "0ms");
        assert_eq!(told(999), "999ms");
        assert_eq!(told(3_250), "3.2s");
        assert_eq!(told(250_900), "4m 10s");
    }
}
