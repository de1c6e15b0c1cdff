//! [`Dashboard`]: one page, the API behind it, and who may ask.

mod bind_error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tenure::Coordinator;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

pub use self::bind_error::BindError;
use crate::answer::Answer;
use crate::host::{Reach, ServerNames};
use crate::login::{self, Access};
use crate::looker::Looker;
pub use crate::options::DashboardOptions;
use crate::options::Log;
use crate::page::PAGE;
use crate::tls::TlsFiles;
use crate::{api, events, guard, revoke, serve};

/// A token of fewer characters can be guessed: others could come.
pub const SHORTEST_TOKEN: usize = 16;

/// A server that has its port and waits for [`run`](Self::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::Coordinator;
/// use tenure_dashboard::site::{Dashboard, DashboardOptions};
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let options = DashboardOptions::default();
/// let dashboard = Dashboard::bind("127.0.0.1:0", coordinator, options).await?;
/// println!("{}", dashboard.url());
/// # let until = std::future::ready(());
/// dashboard.run(until).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    names: ServerNames,
    site: Arc<Site>,
}

struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Dashboard {
    /// Takes the port: `127.0.0.1:0` is any free one.
    ///
    /// # Errors
    /// When there is no such address, or it is taken; when others could come
    /// without a token, and that was not asked for, or with one that can be
    /// guessed; when the files of TLS cannot be used.
    ///
    /// # Cancel safety
    /// Dropping it frees the port.
    pub async fn bind(
        address: &str,
        coordinator: Coordinator,
        options: DashboardOptions,
    ) -> Result<Self, BindError> {
        let tls = options.tls.as_ref().map(TlsFiles::open);
        let tls = tls.transpose().map_err(BindError::Tls)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(BindError::Listen)?;
        let address = listener.local_addr().map_err(BindError::Listen)?;
        let is_local = address.ip().is_loopback();
        // One that has a name besides is there for others, as behind a proxy.
        let is_for_others = !is_local || !options.hosts.is_empty();
        let has_token = options.token.is_some();
        if is_for_others && !has_token && options.allow_revoke {
            return Err(BindError::RevokeNeedsToken(address));
        }
        if is_for_others && !has_token && !options.open_to_all {
            return Err(BindError::NeedsToken(address));
        }
        let is_short = |token: &String| token.len() < SHORTEST_TOKEN;
        if is_for_others && options.token.as_ref().is_some_and(is_short) {
            return Err(BindError::ShortToken(address));
        }
        let reach = match (is_local, has_token) {
            (true, _) => Reach::ThisHost,
            (false, false) => Reach::Addresses,
            (false, true) => Reach::Anywhere,
        };
        let access = options.token.as_deref();
        let access = access.map(|token| Access::new(token, address.port(), tls.is_some()));
        let access = access
            .transpose()
            .map_err(|error| BindError::Listen(std::io::Error::other(error.to_string())))?;
        let scheme = coordinator.profile().scheme;
        let place = options.store.unwrap_or_else(|| format!("{scheme}:"));
        let streams = (serve::most_at_once() / 2).max(1);
        Ok(Self {
            listener,
            address,
            tls: tls.map(Tls),
            names: ServerNames::new(reach, &options.hosts),
            site: Arc::new(Site {
                looker: Looker::new(coordinator, place),
                access,
                allow_revoke: options.allow_revoke,
                streams: Arc::new(Semaphore::new(streams)),
                ending: watch::Sender::new(false),
                metrics: options.metrics,
                log: options.log,
            }),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same for a browser.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Whether only this host can reach it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Whether the store answers, for one who asks later.
    pub fn readiness(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let looker = Arc::clone(&self.site.looker);
        move || looker.is_well()
    }

    /// Looks and answers until `end` says so; then those who have asked get
    /// their answer.
    ///
    /// # Cancel safety
    /// Dropping it frees the port and ends the looking; requests under way are
    /// still answered.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let site = self.site;
        let router = router(&site, self.names);
        // Also when this is dropped: streams have no other end.
        let ending = Ending(Arc::clone(&site));
        let end = async {
            end.await;
            drop(ending);
        };
        let tls = self.tls.map(|Tls(acceptor)| acceptor);
        tokio::select! {
            () = serve::serve(self.listener, tls, router, end) => {}
            () = Arc::clone(&site.looker).look() => {}
        }
    }
}

/// Dropped, all streams end.
struct Ending(Arc<Site>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ending.send_replace(true);
    }
}

/// What all requests share.
pub(crate) struct Site {
    pub(crate) looker: Arc<Looker>,
    pub(crate) access: Option<Access>,
    pub(crate) allow_revoke: bool,
    /// One for each page that may follow the changes.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) ending: watch::Sender<bool>,
    metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    log: Option<Arc<Log>>,
}

impl Site {
    /// Tells a person.
    pub(crate) fn log(&self, text: &str) {
        if let Some(log) = &self.log {
            log(text);
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}

fn router(site: &Arc<Site>, names: ServerNames) -> Router {
    let api = Router::new()
        .route("/api/v1/mutexes", get(api::mutexes))
        .route("/api/v1/mutexes/{name}", get(api::mutex))
        .route("/api/v1/mutexes/{name}/revoke", post(revoke::revoke))
        .route("/api/v1/mutex", get(api::mutex))
        .route("/api/v1/mutex/revoke", post(revoke::revoke))
        .route("/api/v1/history", get(api::history))
        .route("/api/v1/store", get(api::store))
        .route("/api/v1/events", get(events::events))
        .route("/api/v1/openapi.json", get(api::openapi))
        .route_layer(from_fn(guard::same_site));
    let known = api
        .route("/", get(async || page(&PAGE)))
        .route("/metrics", get(metrics))
        .fallback(async || Answer::text(404, "try / or /api/v1/openapi.json\n"))
        .layer(from_fn_with_state(Arc::clone(site), login::known));
    Router::new()
        .route("/login", get(login::form).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/healthz", get(async || Answer::text(200, "ok\n")))
        .route("/readyz", get(readyz))
        .merge(known)
        .layer(from_fn_with_state(Arc::new(names), guard::by_name))
        .with_state(Arc::clone(site))
}

async fn readyz(State(site): State<Arc<Site>>) -> Answer {
    match site.looker.is_well() {
        true => Answer::text(200, "ok\n"),
        false => Answer::text(503, "the store is in trouble, or was not reached yet\n"),
    }
}

async fn metrics(State(site): State<Arc<Site>>) -> Answer {
    match &site.metrics {
        Some(text) => Answer::text(200, text()),
        None => Answer::text(404, "this server counts nothing\n"),
    }
}

/// A page of ours. Its own script and style may run, and nothing else.
pub(crate) fn page(text: &str) -> Response {
    let mut random = [0; 16];
    if getrandom::fill(&mut random).is_err() {
        return Answer::text(500, "this host gives no random numbers\n").into_response();
    }
    let nonce: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, text.replace("NONCE", &nonce)).into_response()
}
