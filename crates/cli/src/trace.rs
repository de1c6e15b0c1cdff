//! What the library tells of its work, for a person who asked for it.

use std::io;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::output::{is_heard, plain};

/// stderr, where each event is one line, whatever others wrote in it.
#[derive(Clone, Copy)]
struct Clean {
    /// Whether no reader is waited for.
    only_if_heard: bool,
}

impl io::Write for Clean {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        if self.only_if_heard && !is_heard() {
            return Ok(event.len());
        }
        let text = String::from_utf8_lossy(event);
        let line = plain(text.strip_suffix('\n').unwrap_or(&text));
        io::Write::write_all(&mut io::stderr(), format!("{line}\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows it on stderr: with one `-v` what happened, with two also every call to
/// the store and how long it took. Only of this library: what a driver logs may
/// hold what should not be read. With `only_if_heard` a reader of stderr that
/// does not read is not waited for.
pub(crate) fn show(verbose: u8, only_if_heard: bool) {
    let (level, spans) = match verbose {
        0 => return,
        1 => (LevelFilter::INFO, FmtSpan::NONE),
        2 => (LevelFilter::DEBUG, FmtSpan::CLOSE),
        _ => (LevelFilter::TRACE, FmtSpan::CLOSE),
    };
    let lines = fmt::layer()
        // Its own colours could not be told from what others wrote.
        .with_ansi(false)
        .with_writer(move || Clean { only_if_heard })
        .with_span_events(spans)
        .with_filter(Targets::new().with_target("tenure", level));
    tracing_subscriber::registry().with(lines).init();
}
