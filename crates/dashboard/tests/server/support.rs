//! A server on a port of its own, and a client of bytes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure::Coordinator;
use tenure::model::LeaseTerms;
use tenure_dashboard::site::{Dashboard, DashboardOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::openapi::{check_answer, check_named};

/// Longer than anything takes on a busy machine; only failures wait it out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// A dashboard, and the coordinator of its store.
pub(crate) struct Server {
    pub(crate) coordinator: Coordinator,
    pub(crate) address: SocketAddr,
    pub(crate) end: Option<oneshot::Sender<()>>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(DashboardOptions::default()).await
    }

    pub(crate) async fn with(options: DashboardOptions) -> Self {
        let coordinator = Coordinator::connect("memory:").await.unwrap();
        Self::of(coordinator, options).await
    }

    /// Of leases that end soon.
    pub(crate) async fn with_short_leases() -> Self {
        let terms = LeaseTerms::new(Duration::from_millis(1_500), Duration::from_millis(1_500));
        let memory = tenure::stores::memory::Memory::new();
        let coordinator = Coordinator::with_backend(memory, terms.unwrap()).unwrap();
        Self::of(coordinator, DashboardOptions::default().allow_revoke(true)).await
    }

    pub(crate) async fn of(coordinator: Coordinator, options: DashboardOptions) -> Self {
        let dashboard = Dashboard::bind("127.0.0.1:0", coordinator.clone(), options);
        let dashboard = dashboard.await.unwrap();
        let address = dashboard.address();
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(dashboard.run(async {
            let _ = ended.await;
        }));
        Self {
            coordinator,
            address,
            end: Some(end),
            task,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The answer to these very bytes.
    pub(crate) async fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect().await;
        // It may be answered, and the rest refused, before all is written.
        let _ = stream.write_all(request).await;
        Reply::read(&mut stream).await
    }

    /// The answer to a request, which must be as it is described.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n{body}", body.len());
        let reply = self.raw(request.as_bytes()).await;
        reply.check(method, path);
        reply
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// The answer to `path` once it is as wanted.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let reply = self.get(path).await;
            if reply.status == 200 && is_so(&reply.json()) {
                return reply.json();
            }
            assert!(Instant::now() < end, "never: {path}: {reply:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The row of one mutex once it is as wanted.
    pub(crate) async fn row(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/api/v1/mutexes/{name}");
        self.until(&path, |told| is_so(&told["mutex"])).await["mutex"].clone()
    }

    /// The history of one mutex once it is as wanted.
    pub(crate) async fn history(&self, name: &str, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let path = format!("/api/v1/mutexes/{name}");
        let told = self
            .until(&path, |told| is_so(told["history"].as_array().unwrap()))
            .await;
        told["history"].as_array().unwrap().clone()
    }

    pub(crate) async fn events(&self, path: &str) -> Events {
        let mut stream = self.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        Events {
            stream,
            bytes: Vec::new(),
            has_head: false,
        }
    }
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Self {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        let _ = tokio::time::timeout(PATIENCE, read).await.expect("an end");
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn check(&self, method: &str, path: &str) {
        let path = path.split('?').next().unwrap();
        let kind = self.header("content-type").unwrap_or_default();
        if self.status > 0 {
            check_answer(method, path, self.status, kind, &self.body);
            assert_eq!(
                self.header("x-content-type-options"),
                Some("nosniff"),
                "{self:?}"
            );
            assert!(self.header("content-security-policy").is_some(), "{self:?}");
            assert!(
                self.header("access-control-allow-origin").is_none(),
                "{self:?}"
            );
        }
    }
}

/// A stream of events.
pub(crate) struct Events {
    stream: TcpStream,
    bytes: Vec<u8>,
    has_head: bool,
}

/// One of them.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Events {
    /// The next event; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parse() {
                return Some(event);
            }
            let mut piece = vec![0; 65_536];
            let read = self.stream.read(&mut piece);
            let read = tokio::time::timeout(PATIENCE, read)
                .await
                .expect("an event");
            match read {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.bytes.extend_from_slice(&piece[..length]),
            }
        }
    }

    /// The next of this name, checked.
    pub(crate) async fn named(&mut self, name: &str) -> Value {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.name == name {
                let schema = if name == "store" { "Store" } else { "Changes" };
                check_named(schema, &event.json());
                return event.json();
            }
        }
    }

    fn parse(&mut self) -> Option<Event> {
        if !self.has_head {
            let end = find(&self.bytes, b"\r\n\r\n")?;
            let head = String::from_utf8(self.bytes[..end].to_vec()).unwrap();
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert!(head.contains("content-type: text/event-stream"), "{head}");
            self.bytes.drain(..end + 4);
            self.has_head = true;
        }
        // Pieces of HTTP: a length, and as many bytes.
        let text = unchunked(&self.bytes);
        let end = find(&text, b"\n\n")?;
        let mut event = Event::default();
        for line in String::from_utf8(text[..end].to_vec()).unwrap().lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event.name = value.into(),
                "id" => event.id = Some(value.into()),
                "data" => event.data += value,
                _ => {}
            }
        }
        let rest = text[end + 2..].to_vec();
        self.bytes = rechunked(&self.bytes, &rest);
        Some(event)
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|found| found == wanted)
}

/// What the whole chunks among the bytes hold, and where they end.
fn chunks(bytes: &[u8]) -> (Vec<u8>, usize) {
    let (mut text, mut at) = (Vec::new(), 0);
    while let Some(line) = find(&bytes[at..], b"\r\n") {
        let length = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let length = usize::from_str_radix(&length, 16).unwrap();
        let start = at + line + 2;
        if bytes.len() < start + length + 2 {
            break;
        }
        text.extend_from_slice(&bytes[start..start + length]);
        at = start + length + 2;
    }
    (text, at)
}

fn unchunked(bytes: &[u8]) -> Vec<u8> {
    chunks(bytes).0
}

/// The bytes with `rest` in place of their whole chunks.
fn rechunked(bytes: &[u8], rest: &[u8]) -> Vec<u8> {
    let (_, end) = chunks(bytes);
    let mut made = Vec::new();
    if !rest.is_empty() {
        made.extend(format!("{:x}\r\n", rest.len()).bytes());
        made.extend(rest);
        made.extend(b"\r\n");
    }
    made.extend(&bytes[end..]);
    made
}

impl Events {
    /// Reads the beginning of the answer; false when there is none.
    pub(crate) async fn peeked(&mut self, piece: &mut [u8]) -> bool {
        self.stream.read_exact(piece).await.is_ok()
    }
}
