//! Requests that a fuzzer makes up, through the real router and the real connection, in one
//! process and without a network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use tenure::{Coordinator, LockGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;

use super::{Dashboard, DashboardOptions, Site, router};
use crate::serve::{Progress, speak};

/// What must be known at the second of the sites.
pub const TOKEN: &str = "a-token-that-no-fuzzer-finds";
/// What is held at both.
pub const MUTEX: &str = "held-by-the-fuzzer";

/// Then it hangs.
const LONGEST: Duration = Duration::from_secs(20);
/// Nothing that is answered here is longer, but a stream.
const MOST: u64 = 1 << 20;

/// What became of a visit.
#[derive(Debug)]
pub struct Visit {
    /// All that was answered; of a stream, its head.
    pub answer: Vec<u8>,
    /// Whether the mutex is held as before.
    pub is_held: bool,
}

/// Two sites: an open one that is read-only, and one that wants a token and lets mutexes be freed.
struct Sites {
    runtime: Runtime,
    sites: [(Arc<Site>, Router, LockGuard); 2],
}

impl Sites {
    fn open() -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        let options = [
            DashboardOptions::default(),
            DashboardOptions::default().token(TOKEN).allow_revoke(true),
        ];
        let sites = options.map(|options| runtime.block_on(site(options)));
        Self { runtime, sites }
    }
}

async fn site(options: DashboardOptions) -> (Arc<Site>, Router, LockGuard) {
    let coordinator = Coordinator::connect("memory:").await.expect("a store");
    let lock = coordinator.lock(MUTEX).expect("a name");
    let guard = lock.acquire().await.expect("a lock");
    let bound = Dashboard::bind("127.0.0.1:0", coordinator, options).await;
    let Dashboard { site, names, .. } = bound.expect("a port");
    let router = router(&site, names);
    tokio::spawn(Arc::clone(&site.looker).look());
    // Each request would wait for it.
    while !site.looker.is_well() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (site, router, guard)
}

/// Sends `request` to one of the sites, and ends its side. Panics if there is no end to it.
///
/// # Panics
/// When no answer has come to its end in time.
#[must_use]
pub fn visit(needs_token: bool, request: &[u8]) -> Visit {
    static SITES: OnceLock<Mutex<Sites>> = OnceLock::new();
    static VISITS: AtomicU32 = AtomicU32::new(1);
    let sites = SITES.get_or_init(|| Mutex::new(Sites::open()));
    let mut sites = sites.lock().unwrap_or_else(PoisonError::into_inner);
    let Sites { runtime, sites } = &mut *sites;
    let (_, router, guard) = &sites[usize::from(needs_token)];
    // Each comes from elsewhere: what one has done does not keep the next out.
    let from = Ipv4Addr::from_bits(VISITS.fetch_add(1, Ordering::Relaxed));
    let peer = SocketAddr::new(IpAddr::V4(from), 1);
    let answer = runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(4096);
        let server = speak(theirs, peer, Progress::default(), router.clone());
        let conversation = async {
            tokio::select! {
                answer = ask(ours, request) => answer,
                // What it has said can still be read.
                answer = async { server.await; std::future::pending().await } => answer,
            }
        };
        let answer = tokio::time::timeout(LONGEST, conversation).await;
        answer.expect("a request has an end")
    });
    let is_held = guard.tenure().token().is_ok();
    if !is_held {
        // Freed by one who knew the token: the next finds it as before.
        let needs_token = usize::from(needs_token);
        let options = DashboardOptions::default().token(TOKEN).allow_revoke(true);
        sites[needs_token] = runtime.block_on(site(options));
    }
    Visit { answer, is_held }
}

async fn ask(stream: DuplexStream, request: &[u8]) -> Vec<u8> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = reader.take(MOST);
    let write = async {
        // One that has heard enough does not listen to the rest.
        let _ = writer.write_all(request).await;
        let _ = writer.shutdown().await;
    };
    let read = async {
        let mut answer = Vec::new();
        while reader
            .read_buf(&mut answer)
            .await
            .is_ok_and(|read| read > 0)
        {
            if is_stream(&answer) {
                break;
            }
        }
        answer
    };
    tokio::join!(write, read).1
}

/// Whether it is the head of a stream, which has no end.
fn is_stream(answer: &[u8]) -> bool {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    end.is_some_and(|end| {
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        head.contains("content-type: text/event-stream")
    })
}
