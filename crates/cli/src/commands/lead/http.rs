//! Who leads, for a neighbour in the same pod: `/leader` and `/healthz`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tenure::Tenure;
use tenure::model::{FencingToken, MutexOwner};
use tenure_dashboard::host;
use tenure_dashboard::http::{self, Response};
use tokio::net::TcpListener;

/// What is known of the office, shared with those who ask.
#[derive(Clone, Debug)]
pub(super) struct Office(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    name: String,
    leader: Option<String>,
    tenure: Option<Tenure>,
}

/// The answer to `/leader`.
#[derive(Debug, Serialize)]
struct Answer {
    name: String,
    leader: Option<String>,
    leading: bool,
    token: Option<FencingToken>,
}

impl Office {
    pub(super) fn new(name: &str) -> Self {
        Self(Arc::new(Mutex::new(Known {
            name: name.to_owned(),
            leader: None,
            tenure: None,
        })))
    }

    pub(super) fn observed(&self, owner: &MutexOwner) {
        self.known().leader = owner.owner_id().map(ToString::to_string);
    }

    pub(super) fn elected(&self, tenure: &Tenure) {
        let mut known = self.known();
        known.leader = Some(tenure.contender().to_string());
        known.tenure = Some(tenure.clone());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self) -> Answer {
        let known = self.known();
        // The clock decides at this very moment, not the last news.
        let token = known.tenure.as_ref().and_then(|tenure| tenure.token().ok());
        Answer {
            name: known.name.clone(),
            leader: known.leader.clone(),
            leading: token.is_some(),
            token,
        }
    }
}

/// Answers on `address` for as long as the runtime lives; returns where.
pub(super) async fn serve(address: &str, office: Office) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let is_local = bound.ip().is_loopback();
    tokio::spawn(http::serve(listener, move |request| {
        let refusal = host::misdirected(&request, is_local);
        std::future::ready(refusal.unwrap_or_else(|| reply(&request.path, &office)))
    }));
    Ok(bound)
}

fn reply(path: &str, office: &Office) -> Response {
    match path {
        "/leader" => Response::json("200 OK", &office.answer()),
        "/healthz" => Response::text("200 OK", "ok\n"),
        _ => Response::text("404 Not Found", "try /leader or /healthz\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_answer() {
        let office = Office::new("billing");
        let answer = reply("/leader", &office);
        assert_eq!(answer.status(), "200 OK");
        let empty = r#"{"name":"billing","leader":null,"leading":false,"token":null}"#;
        assert_eq!(answer.body().trim(), empty);
        assert_eq!(reply("/healthz", &office).status(), "200 OK");
        assert_eq!(reply("/", &office).status(), "404 Not Found");
    }
}
