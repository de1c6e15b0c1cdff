//! Connections: how many, for how long, and how much of them.
//!
//! HTTP itself is hyper's. Each connection serves one request, so that one that
//! waits in silence is never one that was just answered: who is silent makes
//! room first.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use crate::patience::Patient;
use crate::text::stamp;

/// For the handshake, and again for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// For all of a connection whose answer is whole, and is not a stream.
const WHOLE: Duration = Duration::from_secs(30);
/// With a few hundred names in its query.
const LONGEST_HEAD: usize = 32 * 1024;
const MOST_HEADERS: usize = 64;
const BUFFER: usize = 64 * 1024;
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
/// For answers that are under way when the server ends.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The answer of a host whose clock is beyond what HTTP has dates for.
const NO_DATE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n\
    the clock of this host stands before 1970 or after 9999: set it\n";

/// Whose request it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// How far a connection has come, for its request to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<ProgressMarks>);

#[derive(Debug, Default)]
struct ProgressMarks {
    has_asked: AtomicBool,
    is_stream: AtomicBool,
}

impl Progress {
    /// Its answer has no end of its own.
    pub(crate) fn streams(&self) {
        self.0.is_stream.store(true, Ordering::Relaxed);
    }

    fn is_stream(&self) -> bool {
        self.0.is_stream.load(Ordering::Relaxed)
    }

    fn has_asked(&self) -> bool {
        self.0.has_asked.load(Ordering::Relaxed)
    }
}

/// Answers all who come, until `end` says so; then those who have asked get
/// their answer.
///
/// # Cancel safety
/// Dropping it ends the listening; requests under way are still answered.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    end: impl Future<Output = ()>,
) {
    let mut open = Vec::new();
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        tokio::select! {
            () = make_room(&mut open, accepted.is_err()) => {}
            () = &mut end => break,
        }
        if let Ok((stream, peer)) = accepted {
            open.push(Connection::begin(stream, peer, tls.clone(), router.clone()));
        }
    }
    drop(listener);
    let (asked, silent): (Vec<_>, Vec<_>) = open
        .into_iter()
        .partition(|connection| connection.progress.has_asked());
    silent.iter().for_each(|connection| connection.task.abort());
    let limit = tokio::time::Instant::now() + LAST_WORDS;
    for mut connection in asked {
        if tokio::time::timeout_at(limit, &mut connection.task)
            .await
            .is_err()
        {
            connection.task.abort();
        }
    }
}

/// A client that has come, the oldest first.
#[derive(Debug)]
struct Connection {
    task: JoinHandle<()>,
    progress: Progress,
    since: Instant,
}

impl Connection {
    fn begin(
        stream: TcpStream,
        peer: SocketAddr,
        tls: Option<TlsAcceptor>,
        router: Router,
    ) -> Self {
        let progress = Progress::default();
        let told = progress.clone();
        let task = tokio::spawn(async move {
            let conversation = async {
                let stream = Patient::new(stream);
                match tls {
                    None => speak(stream, peer, told.clone(), router).await,
                    Some(tls) => {
                        let shaken = tokio::time::timeout(PATIENCE, tls.accept(stream)).await;
                        if let Ok(Ok(stream)) = shaken {
                            speak(stream, peer, told.clone(), router).await;
                        }
                    }
                }
            };
            let mut conversation = pin!(conversation);
            let ended = tokio::time::timeout(WHOLE, &mut conversation).await;
            if ended.is_err() && told.is_stream() {
                conversation.await;
            }
        });
        let since = Instant::now();
        Self {
            task,
            progress,
            since,
        }
    }
}

/// One request and its answer.
pub(crate) async fn speak<S>(mut stream: S, peer: SocketAddr, progress: Progress, router: Router)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // A date that HTTP cannot write makes hyper panic.
    if stamp(SystemTime::now()).is_none() {
        // What was not read would take the answer away.
        let mut head = vec![0; 8192];
        let _ = tokio::time::timeout(PATIENCE, stream.read(&mut head)).await;
        let _ = stream.write_all(NO_DATE).await;
        let _ = stream.shutdown().await;
        return;
    }
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        progress.0.has_asked.store(true, Ordering::Relaxed);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(progress.clone());
        let mut router = router.clone();
        async move { Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|no| match no {})) }
    });
    // What goes wrong is the client's: there is no one else to tell.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        // A client may end its side as soon as it has asked.
        .half_close(true)
        .max_header_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .await;
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
        let oldest = first_to_go(open);
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

/// The oldest of those who are silent; else of those who get a whole answer, and
/// at last of those who follow the changes.
fn first_to_go(open: &[Connection]) -> usize {
    let oldest = |is_so: fn(&Progress) -> bool| {
        open.iter()
            .position(|connection| is_so(&connection.progress))
    };
    let silent = oldest(|progress| !progress.has_asked());
    let whole = || oldest(|progress| !progress.is_stream());
    silent.or_else(whole).unwrap_or(0)
}

/// How many may be open at once, so that the store still finds files to open.
pub(crate) fn most_at_once() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    files
        .saturating_sub(FILES_FOR_OTHERS)
        .clamp(1, MOST_AT_ONCE)
}
