//! Who leads, for a neighbour in the same pod: `/leader` and `/healthz`.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tenure::Tenure;
use tenure::model::{FencingToken, MutexOwner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A neighbour asks in one packet; whoever is slower or longer is none.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: usize = 8192;
const MOST_AT_ONCE: usize = 64;

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
pub(super) async fn serve(address: &str, office: Office) -> io::Result<std::net::SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let office = office.clone();
                    tokio::spawn(async move {
                        let _ = tokio::time::timeout(PATIENCE, converse(stream, &office)).await;
                        drop(place);
                    });
                }
                // Out of files, most likely: some will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    Ok(bound)
}

async fn converse(mut stream: TcpStream, office: &Office) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    let (status, kind, body) = reply(&line, office);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let body = if line.starts_with("HEAD ") { "" } else { &body };
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await
}

fn reply(line: &str, office: &Office) -> (&'static str, &'static str, String) {
    const PLAIN: &str = "text/plain";
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    match (method, path.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/leader") => {
            let answer = serde_json::to_string(&office.answer()).expect("our own values are JSON");
            ("200 OK", "application/json", answer + "\n")
        }
        ("GET" | "HEAD", "/healthz") => ("200 OK", PLAIN, "ok\n".into()),
        ("GET" | "HEAD", _) => ("404 Not Found", PLAIN, "try /leader or /healthz\n".into()),
        _ => ("405 Method Not Allowed", PLAIN, "only GET\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_answer() {
        let office = Office::new("billing");
        let (status, kind, body) = reply("GET /leader HTTP/1.1", &office);
        assert_eq!((status, kind), ("200 OK", "application/json"));
        let empty = r#"{"name":"billing","leader":null,"leading":false,"token":null}"#;
        assert_eq!(body.trim(), empty);
        assert_eq!(reply("GET /healthz?x=1 HTTP/1.1", &office).0, "200 OK");
        assert_eq!(reply("GET / HTTP/1.1", &office).0, "404 Not Found");
        assert_eq!(
            reply("POST /leader HTTP/1.1", &office).0,
            "405 Method Not Allowed"
        );
        assert_eq!(reply("", &office).0, "405 Method Not Allowed");
    }
}
