//! [`DashboardOptions`]: what a dashboard may and must.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::tls::TlsFiles;

/// What a dashboard may and must. Without any it is read-only, without a
/// password, and for this host alone.
///
/// ```
/// use tenure_dashboard::site::DashboardOptions;
///
/// let options = DashboardOptions::default()
///     .store("redis://example")
///     .token("a long secret that others do not guess")
///     .allow_revoke(true);
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(Clone, Default)]
pub struct DashboardOptions {
    pub(crate) store: Option<String>,
    pub(crate) hosts: Vec<String>,
    pub(crate) token: Option<String>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) allow_revoke: bool,
    pub(crate) open_to_all: bool,
    pub(crate) metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    pub(crate) log: Option<Arc<Log>>,
}

/// Tells a person of something.
pub(crate) type Log = dyn Fn(&str) + Send + Sync;

impl DashboardOptions {
    /// What the store is called: its URL without secrets.
    #[must_use]
    pub fn store(mut self, store: impl Into<String>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// One more name by which it may be called, as behind a proxy.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// What everybody must know who asks.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// TLS, with a certificate (and those above it) and its key as PEM files.
    #[must_use]
    pub fn tls(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        self.tls = Some(TlsFiles { certificate, key });
        self
    }

    /// Whether mutexes may be freed by force.
    #[must_use]
    pub fn allow_revoke(mut self, allow_revoke: bool) -> Self {
        self.allow_revoke = allow_revoke;
        self
    }

    /// Whether others than this host may come without a token.
    #[must_use]
    pub fn open_to_all(mut self, open_to_all: bool) -> Self {
        self.open_to_all = open_to_all;
        self
    }

    /// What `/metrics` answers.
    #[must_use]
    pub fn metrics(mut self, text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(text));
        self
    }

    /// Who is told of each revocation, and of wrong tokens.
    #[must_use]
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }
}

impl fmt::Debug for DashboardOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DashboardOptions")
            .field("store", &self.store)
            .field("hosts", &self.hosts)
            .field("has_token", &self.token.is_some())
            .field("tls", &self.tls)
            .field("allow_revoke", &self.allow_revoke)
            .field("open_to_all", &self.open_to_all)
            .finish_non_exhaustive()
    }
}
