//! Words for people go to stderr; stdout belongs to the command or the data.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::event::Timespec;
use serde::{Deserialize, Serialize};
pub(crate) use tenure_dashboard::text::plain;
use tenure_dashboard::text::{plain_json, plain_lines};

/// How a command's data is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize, Serialize)]
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
    only_if_heard: bool,
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
            only_if_heard: false,
            is_watched,
        }
    }

    /// Of one who must go on: a reader of its stderr that does not read is hardly
    /// waited for.
    pub(crate) fn only_if_heard(mut self) -> Self {
        self.only_if_heard = true;
        self
    }

    fn may_speak(&self) -> bool {
        !self.only_if_heard || is_heard()
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

    /// Whether the user asked for details.
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
        if self.level >= 0 && self.is_watched && self.may_speak() {
            // One that wraps could not be replaced.
            let width = rustix::termios::tcgetwinsize(std::io::stderr());
            let width = width.map_or(0, |size| usize::from(size.ws_col));
            let room = if width == 0 { 80 } else { width } - 1;
            let message: String = plain(message).chars().take(room).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{message}");
        }
    }

    fn line(&self, paint: &str, message: &dyn Display) {
        if !self.may_speak() {
            return;
        }
        // Whatever others wrote in it, no line of it passes for one of ours.
        let message = plain_lines(&message.to_string()).replace('\n', "\n  ");
        // A reader that went away must not end what we are doing.
        let mut stderr = std::io::stderr().lock();
        let _ = if self.colour {
            writeln!(stderr, "\x1b[{paint}mtenure:\x1b[0m {message}")
        } else {
            writeln!(stderr, "tenure: {message}")
        };
    }
}

/// Whether there is a reader of what is said. One who does not read is waited for once,
/// and not again until something was read: there may be much to say.
pub(crate) fn is_heard() -> bool {
    static WAS_UNHEARD: AtomicBool = AtomicBool::new(false);
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: match WAS_UNHEARD.load(Ordering::Relaxed) {
            true => 0,
            false => 250_000_000,
        },
    };
    let is_heard = crate::guardian::is_heard(patience);
    WAS_UNHEARD.store(!is_heard, Ordering::Relaxed);
    is_heard
}

/// Says nothing more, and keeps no pipe open.
pub(crate) fn silence() {
    if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stderr(null);
    }
}

/// Asks, without the end of the line.
pub(crate) fn ask(question: &str) {
    let _ = write!(std::io::stderr(), "{} ", plain(question));
}

/// The width of the terminal on stdout, if there is one and the user did not ask for
/// all that is known.
pub(crate) fn room(voice: &Voice) -> Option<usize> {
    let stdout = std::io::stdout();
    let is_limited = stdout.is_terminal() && !voice.is_detailed();
    let size = rustix::termios::tcgetwinsize(stdout).ok();
    let width = size.map(|size| usize::from(size.ws_col));
    width.filter(|width| is_limited && *width > 0)
}

/// Writes lines of data; false when the reader is gone.
pub(crate) fn data(line: &dyn Display) -> bool {
    let line = plain_lines(&line.to_string());
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .is_ok()
}

/// Writes lines for a program that must get them as they are, a shell; what a
/// terminal shows is made plain. False when the reader is gone.
pub(crate) fn raw(lines: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        drop(stdout);
        return data(&lines);
    }
    writeln!(stdout, "{lines}")
        .and_then(|()| stdout.flush())
        .is_ok()
}

/// Writes one JSON object as a line; false when the reader is gone.
pub(crate) fn json(value: &impl Serialize) -> bool {
    let text = serde_json::to_string(value).expect("our own values are JSON");
    data(&plain_json(&text))
}

/// Ends the program because of its arguments, or with its help.
pub(crate) fn exit_with(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    let shown = plain_lines(&text);
    if shown == text {
        error.exit();
    }
    // Something in the arguments would command the terminal.
    let _ = write!(std::io::stderr(), "{shown}");
    std::process::exit(error.exit_code())
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

/// A moment of the wall clock, for people and logs.
pub(crate) fn stamp(at: SystemTime) -> String {
    let is_early = at < SystemTime::UNIX_EPOCH;
    tenure_dashboard::text::stamp(at).unwrap_or_else(|| {
        let odd = if is_early {
            "before 1970"
        } else {
            "after 9999"
        };
        odd.to_owned()
    })
}

/// A moment of a store's clock, which may show anything.
pub(crate) fn store_stamp(time: tenure::model::StoreTime) -> String {
    let since = Duration::from_millis(time.as_millis());
    match SystemTime::UNIX_EPOCH.checked_add(since) {
        Some(at) => stamp(at),
        None => "after 9999".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_short_to_read() {
        let told = |millis| brief(Duration::from_millis(millis));
        assert_eq!(told(0), "0ms");
        assert_eq!(told(999), "999ms");
        assert_eq!(told(3_250), "3.2s");
        assert_eq!(told(250_900), "4m 10s");
    }
}
