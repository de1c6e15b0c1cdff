//! [`Probes`]: what Prometheus, Kubernetes and neighbours ask over HTTP.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tenure::Coordinator;
use tenure_dashboard::host;
use tenure_dashboard::http::{self, Request, Response};
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
    /// What a command answers beside those.
    own: OnceLock<Box<OwnAnswer>>,
}

/// A command's own answer to a path, if it has one.
type OwnAnswer = dyn Fn(&str) -> Option<Response> + Send + Sync;

impl Probes {
    /// Answers on the address that `--http` names, if it names one, for as
    /// long as the runtime lives. Before the store is opened: what is counted
    /// is counted from then on.
    pub(crate) async fn serve(address: Option<&str>, voice: &Voice) -> Result<Self, Failure> {
        let Some(address) = address else {
            return Ok(Self(None));
        };
        let probes = Self(Some(Arc::new(ProbesParts {
            registry: Registry::install(),
            coordinator: OnceLock::new(),
            own: OnceLock::new(),
        })));
        let at = probes.listen(address).await;
        let at = at.map_err(|error| Failure::usage(format!("--http {address}: {error}")))?;
        voice.detail(&format_args!("answering on http://{at}/"));
        Ok(probes)
    }

    async fn listen(&self, address: &str) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let (probes, is_local) = (self.clone(), bound.ip().is_loopback());
        tokio::spawn(http::serve(listener, move |request: Request| {
            let refusal = host::misdirected(&request, is_local);
            std::future::ready(refusal.unwrap_or_else(|| probes.answer(&request.path)))
        }));
        Ok(bound)
    }

    /// The store is open.
    pub(crate) fn opened(&self, coordinator: &Coordinator) {
        if let Some(parts) = &self.0 {
            let _ = parts.coordinator.set(coordinator.clone());
        }
    }

    /// `own` answers what is not answered here.
    pub(crate) fn answers(&self, own: impl Fn(&str) -> Option<Response> + Send + Sync + 'static) {
        if let Some(parts) = &self.0 {
            let _ = parts.own.set(Box::new(own));
        }
    }

    fn answer(&self, path: &str) -> Response {
        let Some(parts) = &self.0 else {
            return Response::text("404 Not Found", "\n");
        };
        match path {
            "/metrics" => Response::text("200 OK", parts.registry.text()),
            "/healthz" => Response::text("200 OK", "ok\n"),
            "/readyz" => match parts.coordinator.get() {
                None => Response::text("503 Service Unavailable", "the store is not open yet\n"),
                Some(open) if !open.status().is_store_well => {
                    Response::text("503 Service Unavailable", "the store is in trouble\n")
                }
                Some(_) => Response::text("200 OK", "ok\n"),
            },
            path => {
                let own = parts.own.get().and_then(|own| own(path));
                own.unwrap_or_else(|| Response::text("404 Not Found", format!("try {PATHS}\n")))
            }
        }
    }
}

impl fmt::Debug for ProbesParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbesParts").finish_non_exhaustive()
    }
}
