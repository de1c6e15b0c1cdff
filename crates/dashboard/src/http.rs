//! Just enough HTTP for a few pages: requests are GET and HEAD, answers are
//! whole, every connection serves one request.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request comes in one packet, and its answer is short; a client that is
/// slower is no friend.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_REQUEST: usize = 8192;
/// Then the oldest connection that has not asked yet makes room, so that those
/// who are slow keep no other out, and take no answer from who has asked.
const MOST_AT_ONCE: usize = 128;
/// Times the number of those who may be here: what each has to ask in before it is
/// sent away. A second, however fast a crowd comes and however many leave by themselves;
/// less where there are few files, and all must come in turn.
const TURN: Duration = Duration::from_millis(8);
/// What the store and the program itself may need of the files that the process
/// may open.
const FILES_FOR_OTHERS: usize = 32;
const PLAIN: &str = "text/plain; charset=utf-8";

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Without the query.
    pub path: String,
    /// Under which name the server was called, if that was said.
    pub host: Option<String>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    status: &'static str,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    /// Text for a person, under a status such as `404 Not Found`.
    #[must_use]
    pub fn text(status: &'static str, body: impl Into<String>) -> Self {
        Self {
            status,
            kind: PLAIN,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// A page.
    #[must_use]
    pub fn html(body: impl Into<String>) -> Self {
        let mut response = Self::text("200 OK", body);
        response.kind = "text/html; charset=utf-8";
        response
    }

    /// JSON in which neither markup nor what cannot be seen hides, whatever is
    /// made of it.
    ///
    /// # Panics
    /// When `value` cannot be JSON.
    #[must_use]
    pub fn json(status: &'static str, value: &impl serde::Serialize) -> Self {
        let body = serde_json::to_string(value).expect("the value can be JSON");
        // Outside of strings JSON has none of these.
        let body = body
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026");
        let body = crate::text::plain_json(&body);
        let mut response = Self::text(status, body + "\n");
        response.kind = "application/json";
        response
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The status, as in `200 OK`.
    #[must_use]
    pub fn status(&self) -> &str {
        self.status
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let mut text = format!(
            "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text.push_str("\r\n");
        if !is_head {
            text.push_str(&self.body);
        }
        text.into_bytes()
    }
}

/// Answers all who come, until it is dropped.
///
/// # Cancel safety
/// Dropping it ends the listening; requests under way are still answered.
pub async fn serve<F, Fut>(listener: TcpListener, answer: F)
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send,
{
    let answer = Arc::new(answer);
    let mut open: Vec<Connection> = Vec::new();
    loop {
        let accepted = listener.accept().await;
        make_room(&mut open, accepted.is_err()).await;
        let Ok((stream, _)) = accepted else { continue };
        let (answer, asked) = (Arc::clone(&answer), Arc::new(AtomicBool::new(false)));
        let has_asked = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            let conversation = converse(stream, &has_asked, &*answer);
            let _ = tokio::time::timeout(PATIENCE, conversation).await;
        });
        let since = Instant::now();
        open.push(Connection { task, asked, since });
    }
}

/// A client that has come, the oldest first.
struct Connection {
    task: JoinHandle<()>,
    /// Whether the whole request is there, and is being answered.
    asked: Arc<AtomicBool>,
    since: Instant,
}

/// Returns when one more may come in.
async fn make_room(open: &mut Vec<Connection>, is_out_of_files: bool) {
    let most = most_at_once();
    let turns = u32::try_from(most).unwrap_or(u32::MAX);
    loop {
        let before = open.len();
        open.retain(|connection| !connection.task.is_finished());
        let has_room = match is_out_of_files {
            true => open.len() < before,
            false => open.len() < most,
        };
        if has_room {
            return;
        }
        if open.is_empty() {
            // The files are not ours.
            return tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let silent = open.iter().position(|connection| !connection.has_asked());
        let oldest = silent.unwrap_or(0);
        if open[oldest].since.elapsed() >= TURN * turns {
            let Connection { task, .. } = open.remove(oldest);
            task.abort();
            // Then its file is closed.
            let _ = task.await;
            return;
        }
        tokio::time::sleep(TURN).await;
    }
}

impl Connection {
    fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// How many may be open at once, so that the store still finds files to open.
fn most_at_once() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    files
        .saturating_sub(FILES_FOR_OTHERS)
        .clamp(1, MOST_AT_ONCE)
}

async fn converse<F, Fut>(mut stream: TcpStream, asked: &AtomicBool, answer: &F) -> io::Result<()>
where
    F: Fn(Request) -> Fut,
    Fut: Future<Output = Response>,
{
    let mut head = Vec::new();
    let response = loop {
        if let Some(end) = head.windows(4).position(|end| end == b"\r\n\r\n") {
            asked.store(true, Ordering::Relaxed);
            break match understood(&String::from_utf8_lossy(&head[..end])) {
                Ok(request) => answer(request).await,
                Err(refusal) => refusal,
            };
        }
        if head.len() > LONGEST_REQUEST {
            let status = "431 Request Header Fields Too Large";
            break Response::text(status, "a request has at most 8 KiB\n");
        }
        let mut piece = [0; 1024];
        match stream.read(&mut piece).await? {
            0 => return Ok(()),
            length => head.extend_from_slice(&piece[..length]),
        }
    };
    let is_head = head.starts_with(b"HEAD ");
    stream.write_all(&response.bytes(is_head)).await?;
    stream.shutdown().await
}

fn understood(head: &str) -> Result<Request, Response> {
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let &[method, target, version] = words.as_slice() else {
        return Err(Response::text("400 Bad Request", "this is not HTTP\n"));
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return Err(Response::text("400 Bad Request", "this is not HTTP/1\n"));
    }
    if !matches!(method, "GET" | "HEAD") {
        let refusal = Response::text("405 Method Not Allowed", "only GET\n");
        return Err(refusal.with("allow", "GET, HEAD"));
    }
    let mut host = None;
    for line in lines {
        // A name that another program might read in another way, or a second
        // host: a client that writes so has no good reason.
        let (name, value) = line.split_once(':').unwrap_or((" ", ""));
        let is_host = name.eq_ignore_ascii_case("host");
        if name.is_empty() || name.contains(is_odd) || (is_host && host.is_some()) {
            return Err(Response::text("400 Bad Request", "this is not HTTP/1\n"));
        }
        if is_host {
            host = Some(value.trim().to_owned());
        }
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Request { path, host })
}

/// Whether the name of a header cannot have it.
fn is_odd(c: char) -> bool {
    c.is_whitespace() || c.is_control() || !c.is_ascii()
}

#[cfg(test)]
pub(crate) fn tests_request(head: &str) -> Request {
    understood(head).expect("it is a request")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> String {
        match understood(head) {
            Ok(request) => format!("{request:?}"),
            Err(refusal) => refusal.status().to_owned(),
        }
    }

    #[test]
    fn only_requests_for_pages_are_understood() {
        let request = understood("GET /a?b=/c HTTP/1.1\r\nX: y\r\nHOST: here:80").unwrap();
        assert_eq!(request.path, "/a");
        assert_eq!(request.host.as_deref(), Some("here:80"));
        assert_eq!(understood("HEAD / HTTP/1.0").unwrap().host, None);
        assert_eq!(status("POST / HTTP/1.1"), "405 Method Not Allowed");
        for odd in [
            "",
            "GET /",
            "GET / HTTP/2",
            "GET http://x/ HTTP/1.1",
            "GET http://localhost/ HTTP/1.1\r\nHost: evil.example",
            "GET x HTTP/1.1",
            "\0",
            "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
            "GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost",
            "GET / HTTP/1.1\r\nHost : evil.example",
            "GET / HTTP/1.1\r\nX: y\r\n Host: evil.example",
            "GET / HTTP/1.1\r\nX: y\nHost: evil.example\r\nnonsense",
            "GET / HTTP/1.1\r\n: x",
        ] {
            assert_eq!(status(odd), "400 Bad Request", "{odd:?}");
        }
    }

    /// A crowd that says nothing does not take the answer from who has asked,
    /// however long the answer takes.
    #[tokio::test]
    async fn who_has_asked_is_answered_whoever_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let crowd_is_there = Arc::new(tokio::sync::Notify::new());
        let come = Arc::clone(&crowd_is_there);
        let server = tokio::spawn(serve(listener, move |_| {
            let come = Arc::clone(&come);
            async move {
                come.notified().await;
                Response::text("200 OK", "here\n")
            }
        }));
        let mut asker = TcpStream::connect(address).await.unwrap();
        asker.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut crowd = Vec::new();
        for _ in 0..2 * MOST_AT_ONCE {
            crowd.push(TcpStream::connect(address).await.unwrap());
        }
        // The oldest of the crowd were sent away: the last has been let in.
        let sent_away = crowd[MOST_AT_ONCE / 2].read(&mut [0; 1]).await;
        assert!(matches!(sent_away, Ok(0) | Err(_)), "{sent_away:?}");
        crowd_is_there.notify_one();
        let mut answer = String::new();
        asker.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("here\n"), "{answer:?}");
        server.abort();
    }

    /// No client reads at once: between connecting and asking a client may be kept
    /// from the processor while a crowd comes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_asks_a_little_later_is_answered_whoever_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, |_| async {
            Response::text("200 OK", "here\n")
        }));
        let is_over = Arc::new(AtomicBool::new(false));
        let crowd = std::thread::spawn({
            let is_over = Arc::clone(&is_over);
            move || {
                let mut crowd = std::collections::VecDeque::new();
                while !is_over.load(Ordering::Relaxed) {
                    crowd.push_back(std::net::TcpStream::connect(address));
                    crowd.drain(..crowd.len().saturating_sub(MOST_AT_ONCE + 32));
                }
            }
        });
        let answer = loop {
            let start = Instant::now();
            let mut late = TcpStream::connect(address).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            let asked = late.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
            let is_in_time = start.elapsed() < Duration::from_millis(600);
            let mut answer = String::new();
            let _ = late.read_to_string(&mut answer).await;
            // Otherwise this test was kept from asking for too long itself.
            if is_in_time || !answer.is_empty() {
                asked.unwrap();
                break answer;
            }
        };
        is_over.store(true, Ordering::Relaxed);
        crowd.join().unwrap();
        assert!(answer.ends_with("here\n"), "{answer:?}");
        server.abort();
    }

    #[test]
    fn json_holds_no_markup() {
        let text = "</script><b a='&'>";
        let response = Response::json("200 OK", &text);
        assert!(!response.body().contains(['<', '>', '&']), "{response:?}");
        assert_eq!(
            serde_json::from_str::<String>(response.body()).unwrap(),
            text
        );
    }

    #[test]
    fn the_answer_to_head_has_no_body() {
        let response = Response::text("200 OK", "ok\n").with("x", "y");
        let [whole, head] =
            [false, true].map(|is_head| String::from_utf8(response.bytes(is_head)).unwrap());
        assert!(head.contains("content-length: 3\r\n") && head.ends_with("x: y\r\n\r\n"));
        assert_eq!(whole, head + "ok\n");
    }
}
