//! The dashboard: one page, and what it asks for every second.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure::Coordinator;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::host;
use crate::http::{self, Request, Response};
use crate::looks::{Looks, Told};

const PAGE: &str = include_str!("page.html");
/// The header of an answer that has not all rows.
const INCOMPLETE: &str = "x-tenure-incomplete";
/// The header of an answer that is of an earlier look, with its age.
const AGE: &str = "x-tenure-age-ms";

/// A server that has its port and waits for [`run`](Self::run).
#[derive(Debug)]
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
}

impl Dashboard {
    /// Takes the port: `127.0.0.1:0` is any free one.
    ///
    /// # Errors
    /// When there is no such address, or it is taken.
    ///
    /// # Cancel safety
    /// Dropping it frees the port.
    pub async fn bind(address: &str, coordinator: Coordinator) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let site = Site {
            coordinator,
            is_local: address.ip().is_loopback(),
            looks: Arc::default(),
        };
        Ok(Self {
            listener,
            address,
            site,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether only this host can reach it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.site.is_local
    }

    /// Answers for ever.
    ///
    /// # Cancel safety
    /// Dropping it frees the port; requests under way are still answered.
    pub async fn run(self) {
        let site = self.site;
        http::serve(self.listener, move |request| {
            let site = site.clone();
            async move { site.answer(&request).await }
        })
        .await;
    }
}

#[derive(Clone, Debug)]
struct Site {
    coordinator: Coordinator,
    is_local: bool,
    looks: Arc<Mutex<Looks>>,
}

impl Site {
    async fn answer(&self, request: &Request) -> Response {
        if let Some(refusal) = host::misdirected(request, self.is_local) {
            return refusal;
        }
        match request.path.as_str() {
            "/" => page(),
            "/healthz" => Response::text("200 OK", "ok\n"),
            "/api/status" => match self.looks.lock().await.rows(&self.coordinator).await {
                Ok(told) => status(&told),
                Err(error) => Response::json(
                    "503 Service Unavailable",
                    &serde_json::json!({ "error": error.to_string() }),
                ),
            },
            _ => Response::text("404 Not Found", "try /, /api/status or /healthz\n"),
        }
    }
}

fn status(told: &Told) -> Response {
    let mut response = Response::json("200 OK", &told.rows);
    if told.cut.is_some() {
        response = response.with(INCOMPLETE, "true".to_owned());
    }
    if let Some(age) = told.age {
        response = response.with(AGE, age.as_millis().to_string());
    }
    response
}

/// The page. Its own script and style may run, and nothing else.
fn page() -> Response {
    let random = || RandomState::new().build_hasher().finish();
    let nonce = format!("{:016x}{:016x}", random(), random());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    Response::html(PAGE.replace("NONCE", &nonce))
        .with("content-security-policy", policy)
        .with("referrer-policy", "no-referrer")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn site() -> Site {
        Site {
            coordinator: Coordinator::connect("memory:").await.unwrap(),
            is_local: true,
            looks: Arc::default(),
        }
    }

    async fn asked(site: &Site, path: &str) -> Response {
        let head = format!("GET {path} HTTP/1.1");
        let request = crate::http::tests_request(&head);
        site.answer(&request).await
    }

    #[tokio::test]
    async fn each_path_has_its_answer() {
        let site = site().await;
        assert_eq!(asked(&site, "/").await.status(), "200 OK");
        assert_eq!(asked(&site, "/api/status").await.body(), "[]\n");
        assert_eq!(asked(&site, "/healthz").await.body(), "ok\n");
        assert_eq!(asked(&site, "/favicon.ico").await.status(), "404 Not Found");
    }

    #[tokio::test]
    async fn a_store_that_fails_is_told() {
        let site = site().await;
        site.coordinator.close().await.unwrap();
        let answer = asked(&site, "/api/status").await;
        assert_eq!(answer.status(), "503 Service Unavailable");
        assert!(answer.body().starts_with(r#"{"error":"#), "{answer:?}");
        assert_eq!(asked(&site, "/healthz").await.status(), "200 OK");
    }

    #[tokio::test]
    async fn what_was_told_is_shown_with_a_mark_that_it_is_not_all() {
        use tenure::backend::{Backend, Bid};
        use tenure::clock::Clock;
        use tenure::model::{ContenderId, LeaseTerms, MutexName};
        use tenure::stores::memory::Memory;
        use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};

        let store = Memory::new();
        for number in 0..1_500 {
            let name = MutexName::new(format!("m{number:04}")).unwrap();
            let id = ContenderId::new("a").unwrap();
            let bid = Bid::new(name, id, LeaseTerms::default());
            assert!(store.acquire(&bid).await.unwrap().is_won());
        }
        let faults = Faults::new(Clock::boot());
        let backend = FaultBackend::new(store, &faults);
        let coordinator = Coordinator::with_backend(backend, LeaseTerms::default()).unwrap();
        let site = Site {
            coordinator,
            is_local: true,
            looks: Arc::default(),
        };
        faults.next(Call::List, Fault::None);
        faults.next(Call::List, Fault::Fail);
        let some = asked(&site, "/api/status").await;
        assert_eq!(some.status(), "200 OK");
        assert_eq!(some.body().matches(r#""name":"#).count(), 1000);
        assert!(
            format!("{some:?}").contains(INCOMPLETE),
            "{:?}",
            some.status()
        );
        tokio::time::sleep(crate::looks::FRESH * 2).await;
        let all = asked(&site, "/api/status").await;
        assert_eq!(all.body().matches(r#""name":"#).count(), 1_500);
        assert!(!format!("{all:?}").contains(INCOMPLETE));
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_makes_no_markup_of_data() {
        for part in [
            "http:",
            "https:",
            "innerHTML",
            "document.write",
            "eval(",
            "insertAdjacent",
        ] {
            assert!(!PAGE.contains(part), "{part}");
        }
        assert!(page() != page(), "a nonce is used once");
    }
}
