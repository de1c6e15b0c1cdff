//! What the library tells of its work, for a person who asked for it.

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Shows it on stderr: with one `-v` what happened, with two also every call to
/// the store and how long it took. Only of this library: what a driver logs may
/// hold what nobody should read.
pub(crate) fn show(verbose: u8) {
    let (level, spans) = match verbose {
        0 => return,
        1 => (LevelFilter::INFO, FmtSpan::NONE),
        2 => (LevelFilter::DEBUG, FmtSpan::CLOSE),
        _ => (LevelFilter::TRACE, FmtSpan::CLOSE),
    };
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_span_events(spans)
        .with_filter(Targets::new().with_target("tenure", level));
    tracing_subscriber::registry().with(lines).init();
}
