//! `--http`, and the command that is a server anyway.

#[cfg(feature = "http")]
use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "http")]
use super::{ACCESS, WHAT, examples};

/// Who may ask how this process is.
#[derive(Args, Debug)]
pub(crate) struct Probed {
    /// Answer /metrics (for Prometheus), /healthz and /readyz here, as in
    /// 127.0.0.1:4040; of lead also /leader (who leads, and is it this one)
    #[cfg(feature = "http")]
    #[arg(long, value_name = "ADDR", help_heading = WHAT)]
    http: Option<String>,
}

impl Probed {
    /// Where it answers, if it does.
    pub(crate) fn address(&self) -> Option<&str> {
        #[cfg(feature = "http")]
        return self.http.as_deref();
        #[cfg(not(feature = "http"))]
        None
    }
}

/// Show who owns what in a browser
///
/// Serves one live page, and the same as JSON under /api/v1. It changes nothing
/// unless --allow-revoke is given, and listens on this host only unless told
/// otherwise. Who comes from elsewhere must know the token of --token-file or
/// $TENURE_DASHBOARD_TOKEN. Ends at SIGTERM and SIGINT.
#[cfg(feature = "http")]
#[derive(Args, Debug)]
#[command(after_help = examples::DASHBOARD, next_help_heading = WHAT)]
pub(crate) struct Dashboard {
    /// Where it listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4080")]
    pub(crate) listen: String,
    /// Let mutexes be freed by force from the page, by typing their name
    #[arg(long)]
    pub(crate) allow_revoke: bool,
    #[command(flatten)]
    pub(crate) probed: Probed,
    /// A file whose first line everybody must know who asks; else
    /// $TENURE_DASHBOARD_TOKEN. As in: openssl rand -hex 32 > FILE
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    pub(crate) token_file: Option<PathBuf>,
    /// Let others than this host come without a token
    #[arg(long, help_heading = ACCESS)]
    pub(crate) open_to_all: bool,
    /// One more name by which it may be called, as behind a proxy
    #[arg(long, value_name = "NAME", help_heading = ACCESS)]
    pub(crate) host: Vec<String>,
    /// The certificate for TLS, and those above it, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = ACCESS)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = ACCESS)]
    pub(crate) tls_key: Option<PathBuf>,
}
