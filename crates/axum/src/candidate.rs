//! [`Candidate`]: what neighbours ask of a process that stands for leader.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use tenure::{Coordinator, Elector};
use tokio::sync::watch;

use crate::refusal::json;

/// The time in which the store must answer, unless another is set.
const LIMIT: Duration = Duration::from_secs(2);
/// How far this host's clock may be from the store's, unless said.
const CLOCKS_APART: Duration = Duration::from_secs(60);

/// Answers for a process that leads or waits to: `/leader`, `/readyz` and `/healthz`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
/// use tenure_axum::Candidate;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let elector = coordinator.elector("billing")?;
/// let app: axum::Router = axum::Router::new()
///     // and what else the service does
///     .merge(Candidate::new(&coordinator, &elector)?.routes());
/// // Beside serving `app`: elector.lead(|tenure| async move { … }).await
/// # drop(app);
/// # coordinator.close().await
/// # }
/// ```
///
/// They say where the store is and what is wrong with it: for neighbours, not for the world.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(crate) coordinator: Coordinator,
    pub(crate) elector: Elector,
    pub(crate) limit: Duration,
    pub(crate) clocks_apart: Duration,
    leader: watch::Receiver<Option<String>>,
}

/// The answer to `/leader`, as that of `tenure lead --http`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Leader {
    /// What is led.
    pub name: String,
    /// The id of the leader, as it was last seen; none if there was none.
    pub leader: Option<String>,
    /// Whether it is this process, by the clock at this moment.
    pub leading: bool,
    /// Its token if so, in digits.
    pub token: Option<String>,
}

impl Candidate {
    /// For `elector`, or a clone of it, which stands by a campaign or by `lead`. Watches who leads
    /// for as long as it or a clone lives.
    ///
    /// # Errors
    /// [`Closed`](tenure::ErrorKind::Closed) after the coordinator was closed.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn new(coordinator: &Coordinator, elector: &Elector) -> tenure::Result<Self> {
        let (tell, leader) = watch::channel(None);
        let mut observer = elector.observe()?;
        tokio::spawn(async move {
            loop {
                let state = tokio::select! {
                    state = observer.next() => state,
                    () = tell.closed() => None,
                };
                let Some(state) = state else { return };
                let id = state.after.owner_id().map(ToString::to_string);
                tell.send_replace(id);
            }
        });
        Ok(Self {
            coordinator: coordinator.clone(),
            elector: elector.clone(),
            limit: LIMIT,
            clocks_apart: CLOCKS_APART,
            leader,
        })
    }

    /// The same, which gives the store this time to answer `/readyz`; 2 s unless set.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The same, which is not ready while this host's clock is further from the store's than
    /// this; 60 s unless set. Leases do not mind, cron schedules and certificates do.
    #[must_use]
    pub fn with_clocks_apart(self, clocks_apart: Duration) -> Self {
        Self {
            clocks_apart,
            ..self
        }
    }

    /// `/leader`, `/readyz` and `/healthz`.
    pub fn routes<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let (asked, ready) = (self.clone(), self.clone());
        Router::new()
            .route("/leader", get(move || std::future::ready(asked.leader())))
            .route(
                "/readyz",
                get(move || async move { ready.readiness().await }),
            )
            .route("/healthz", get(|| std::future::ready("ok\n")))
    }

    /// Who leads, for `/leader`. No I/O.
    #[must_use]
    pub fn leader(&self) -> Leader {
        let seen = self.leader.borrow().clone();
        // The clock decides at this very moment, not the last news.
        let tenure = self.elector.tenure();
        let token = tenure.as_ref().and_then(|tenure| tenure.token().ok());
        Leader {
            name: self.elector.name().to_string(),
            leader: tenure.map_or(seen, |tenure| Some(tenure.contender().to_string())),
            leading: token.is_some(),
            token: token.map(|token| token.to_string()),
        }
    }
}

impl IntoResponse for Leader {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}
