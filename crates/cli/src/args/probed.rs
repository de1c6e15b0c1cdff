//! `--http`, and the command that is a server anyway.

use clap::Args;

use super::{WHAT, examples};

/// Who may ask how this process is.
#[derive(Args, Debug)]
pub(crate) struct Probed {
    /// Answer /metrics (for Prometheus), /healthz and /readyz here, as in
    /// 127.0.0.1:4040; of lead also /leader (who leads, and is it this one)
    #[arg(long, value_name = "ADDR", help_heading = WHAT)]
    pub(crate) http: Option<String>,
}

/// Show who owns what in a browser
///
/// Serves one page that refreshes itself, and the same data as JSON under
/// /api/status. It changes nothing and asks for no password: it listens on this
/// host only, unless told otherwise. Ends at SIGTERM and SIGINT.
#[derive(Args, Debug)]
#[command(after_help = examples::DASHBOARD, next_help_heading = WHAT)]
pub(crate) struct Dashboard {
    /// Where it listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4080")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) probed: Probed,
}
