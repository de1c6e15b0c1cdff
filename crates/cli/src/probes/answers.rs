//! The answers of a program that is asked.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tenure::Coordinator;
use tenure_dashboard::answer::Answer;
use tokio::net::TcpListener;

use crate::exit::Failure;
use crate::metrics::Registry;
use crate::output::Voice;

const PATHS: &str = "/metrics, /healthz or /readyz";

/// The answers to `/metrics`, `/healthz` and `/readyz`, from before the store
/// is open. Without an address no client asks, and nothing is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes(Option<Arc<ProbesParts>>);

struct ProbesParts {
    registry: Registry,
    coordinator: OnceLock<Coordinator>,
    /// Whether the store is well, of one who knows better than the coordinator.
    readiness: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What a command answers beside those.
    own: OnceLock<Box<OwnAnswer>>,
}

/// A command's own answer to a path, if it has one.
type OwnAnswer = dyn Fn(&str) -> Option<Answer> + Send + Sync;

impl Probes {
    /// Answers on the address that `--http` names, if it names one, for as
    /// long as the runtime lives. Before the store is opened: what is counted
    /// is counted from then on.
    pub(crate) async fn serve(address: Option<&str>, voice: &Voice) -> Result<Self, Failure> {
        let Some(address) = address else {
            return Ok(Self(None));
        };
        Self::serve_with(address, Registry::install(), voice).await
    }

    /// The same, of what is counted already.
    pub(crate) async fn serve_with(
        address: &str,
        registry: Registry,
        voice: &Voice,
    ) -> Result<Self, Failure> {
        let probes = Self(Some(Arc::new(ProbesParts {
            registry,
            coordinator: OnceLock::new(),
            readiness: OnceLock::new(),
            own: OnceLock::new(),
        })));
        let at = probes.listen(address).await;
        let at = at.map_err(|error| Failure::usage(format!("--http {address}: {error}")))?;
        if !at.ip().is_loopback() {
            voice.warn(&format_args!(
                "every process that can reach {at} sees the names of mutexes: --http has no password"
            ));
        }
        voice.detail(&format_args!("answering on http://{at}/"));
        Ok(probes)
    }

    async fn listen(&self, address: &str) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let probes = self.clone();
        let answer = move |path: &str| probes.answer(path);
        tokio::spawn(tenure_dashboard::probes::run(listener, PATHS, answer));
        Ok(bound)
    }

    /// The store is open.
    pub(crate) fn opened(&self, coordinator: &Coordinator) {
        if let Some(parts) = &self.0 {
            let _ = parts.coordinator.set(coordinator.clone());
        }
    }

    /// The store is open, and `is_well` knows how it is.
    pub(crate) fn ready_when(&self, is_well: impl Fn() -> bool + Send + Sync + 'static) {
        if let Some(parts) = &self.0 {
            let _ = parts.readiness.set(Box::new(is_well));
        }
    }

    /// `own` answers what is not answered here.
    pub(crate) fn answers(&self, own: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) {
        if let Some(parts) = &self.0 {
            let _ = parts.own.set(Box::new(own));
        }
    }

    fn answer(&self, path: &str) -> Option<Answer> {
        let parts = self.0.as_ref()?;
        match path {
            "/metrics" => Some(Answer::text(200, parts.registry.text())),
            "/healthz" => Some(Answer::text(200, "ok\n")),
            "/readyz" => Some(parts.readyz()),
            path => parts.own.get().and_then(|own| own(path)),
        }
    }
}

impl ProbesParts {
    fn readyz(&self) -> Answer {
        let told = self.readiness.get().map(|is_well| is_well());
        let by_itself = || Some(self.coordinator.get()?.status().is_store_well);
        match told.or_else(by_itself) {
            None => Answer::text(503, "the store is not open yet\n"),
            Some(false) => Answer::text(503, "the store is in trouble\n"),
            Some(true) => Answer::text(200, "ok\n"),
        }
    }
}

impl fmt::Debug for ProbesParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbesParts").finish_non_exhaustive()
    }
}
