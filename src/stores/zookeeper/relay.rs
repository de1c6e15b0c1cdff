//! The driver's connections, carried over TLS.
//!
//! The driver speaks TLS only with a second cryptographic library, and does
//! not say why it failed. So it is given ports of this host, one for each
//! server, and what it sends there goes on to that server inside TLS. See
//! `docs/decisions/0010-tls-to-zookeeper-through-a-relay.md`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use rustls::ClientConfig;
use tokio::io::{AsyncWriteExt, copy, split};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::own_process::{self, Ends};
use super::tls::{self, Server, Way};
use crate::clock::{Clock, Moment};
use crate::error::{Error, Result};
use crate::sync::Mutex;

/// How many connections may wait to be looked at; the system puts the others
/// off. A longer line lets more of a crowd in, and ours waits behind them.
const WAITING: u32 = 64;

/// How many are looked at together.
const CROWD: usize = 32;

/// How often strangers are told of.
const TELLING: Duration = Duration::from_secs(10);

/// How long the end of a connection may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Listens until it is dropped; connections that are made go on until one of
/// their ends closes them.
#[derive(Debug)]
pub(super) struct Relay {
    hosts: String,
    trouble: Trouble,
    _listening: DropGuard,
}

/// Why the last connection failed.
type Trouble = Arc<Mutex<Option<String>>>;

/// The way to one server.
#[derive(Clone)]
struct Route {
    tls: Arc<ClientConfig>,
    server: Server,
    clock: Clock,
    /// How long a connection may take to be made.
    limit: Duration,
    trouble: Trouble,
    /// The ports for all servers, while the relay listens.
    ports: Weak<[TcpListener]>,
}

impl Relay {
    pub(super) fn start(way: &Way, clock: &Clock, limit: Duration) -> Result<Self> {
        let trouble = Trouble::default();
        let listening = CancellationToken::new();
        let ports: io::Result<Vec<_>> = way.servers.iter().map(|_| listen()).collect();
        let ports: Arc<[TcpListener]> = Arc::from(ports.map_err(no_port)?);
        let hosts: io::Result<Vec<_>> = ports.iter().map(address).collect();
        let hosts = hosts.map_err(no_port)?;
        for (number, server) in way.servers.iter().enumerate() {
            let route = Route {
                tls: Arc::clone(&way.client),
                server: server.clone(),
                clock: clock.clone(),
                limit,
                trouble: Arc::clone(&trouble),
                ports: Arc::downgrade(&ports),
            };
            let ports = Arc::clone(&ports);
            let accepting = async move { route.accept(&ports[number]).await };
            tokio::spawn(listening.clone().run_until_cancelled_owned(accepting));
        }
        Ok(Self {
            hosts: hosts.join(","),
            trouble,
            _listening: listening.drop_guard(),
        })
    }

    /// What the driver connects to.
    pub(super) fn hosts(&self) -> &str {
        &self.hosts
    }

    /// Why the last connection failed, if one did.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }
}

fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(WAITING)
}

fn address(port: &TcpListener) -> io::Result<String> {
    port.local_addr().map(|address| address.to_string())
}

fn no_port(error: io::Error) -> Error {
    super::session::unreachable("no port of this host can be listened on").with_source(error)
}

/// Counts the strangers, and tells of them now and then.
#[derive(Default)]
struct Strangers {
    untold: u64,
    told_at: Option<Moment>,
}

impl Strangers {
    /// How many to tell of, now that one more has come.
    fn came(&mut self, now: Moment) -> Option<u64> {
        self.untold += 1;
        let is_late = |at: Moment| now >= at + TELLING;
        self.told_at.is_none_or(is_late).then(|| {
            self.told_at = Some(now);
            std::mem::take(&mut self.untold)
        })
    }
}

impl Route {
    /// A few are looked at, before the next are accepted: a crowd waits outside,
    /// and takes no files, threads or memory of ours.
    async fn accept(&self, port: &TcpListener) {
        let mut strangers = Strangers::default();
        loop {
            let crowd = match crowd(port).await {
                Ok(crowd) => crowd,
                // Too many files are open, as a rule.
                Err(error) => {
                    self.note(&error.to_string());
                    self.clock.sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let ends: Vec<_> = crowd.iter().map(|(_, ends)| *ends).collect();
            let told = tokio::task::spawn_blocking(move || own_process::are_own(&ends)).await;
            // A panic there: none of them is served.
            for ((near, ends), told) in crowd.into_iter().zip(told.unwrap_or_default()) {
                match told {
                    Ok(true) => {
                        let route = self.clone();
                        tokio::spawn(async move { route.serve(near).await });
                    }
                    Ok(false) => {
                        if let Some(count) = strangers.came(self.clock.now()) {
                            tracing::warn!(peer = %ends.peer, count, "strangers on the way to ZooKeeper were turned away");
                        }
                    }
                    // Perhaps ourselves: a waiter for a session is told
                    // why there is none.
                    Err(error) => self.note(&format!(
                        "whether a connection is our own cannot be told: {error}"
                    )),
                }
            }
        }
    }

    /// Carries what the driver says, until either end has nothing more to say.
    async fn serve(self, near: TcpStream) {
        let limit = self.clock.now() + self.limit;
        let far = match self.clock.limit(limit, self.connect()).await {
            Some(Ok(far)) => far,
            Some(Err(error)) => {
                self.note(&tls::explain(&error));
                return self.make_way();
            }
            None => {
                self.note("it does not answer");
                return self.make_way();
            }
        };
        // The driver sends whole requests; none waits for the next.
        let _ = near.set_nodelay(true);
        let (mut near_in, mut near_out) = split(near);
        let (mut far_in, mut far_out) = split(far);
        tokio::select! {
            _ = copy(&mut near_in, &mut far_out) => {
                let limit = self.clock.now() + FAREWELL;
                let _ = self.clock.limit(limit, far_out.shutdown()).await;
            }
            end = copy(&mut far_in, &mut near_out) => {
                // A server may refuse a certificate after the handshake.
                if let Err(error) = end
                    && tls::fault(&error).is_some()
                {
                    self.note(&tls::explain(&error));
                }
                self.make_way();
            }
        }
    }

    /// The driver comes again when it hears of the end, to any of the ports:
    /// who waits there now is none of ours, and is sent away. To be done before
    /// the driver hears of it.
    fn make_way(&self) {
        let Some(ports) = self.ports.upgrade() else {
            return;
        };
        for port in &*ports {
            let waiting = (0..WAITING).map_while(|_| port.accept().now_or_never());
            waiting.for_each(drop);
        }
    }

    async fn connect(&self) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let server = &self.server;
        let far = TcpStream::connect((server.host.as_str(), server.port)).await?;
        far.set_nodelay(true)?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        connector.connect(server.name.clone(), far).await
    }

    fn note(&self, why: &str) {
        let text = format!("{}:{}: {why}", self.server.host, self.server.port);
        tracing::debug!(why = text, "no connection to ZooKeeper");
        *self.trouble.lock() = Some(text);
    }
}

/// Waits for a client, and takes along who else is there.
async fn crowd(listener: &TcpListener) -> io::Result<Vec<(TcpStream, Ends)>> {
    let mut crowd = Vec::new();
    let mut next = Some(listener.accept().await?);
    while let Some((near, peer)) = next {
        // One that is gone again has no second end.
        if let (SocketAddr::V4(peer), Ok(SocketAddr::V4(local))) = (peer, near.local_addr()) {
            crowd.push((near, Ends { peer, local }));
        }
        // An error comes again, when no other peer is there.
        next = match crowd.len() < CROWD {
            true => listener.accept().now_or_never().and_then(Result::ok),
            false => None,
        };
    }
    Ok(crowd)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Stdio;

    use tenure_testkit::servers::Certificates;
    use tokio::time::timeout;

    use super::*;
    use crate::backend::url::StoreUrl;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_crowd_is_told_of_now_and_then() {
        let mut strangers = Strangers::default();
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        assert_eq!(strangers.came(at(0)), Some(1));
        for millis in 1..1000 {
            assert_eq!(strangers.came(at(millis)), None);
        }
        assert_eq!(strangers.came(at(10_000)), Some(1000));
        assert_eq!(strangers.came(at(10_001)), None);
    }

    #[tokio::test]
    async fn nobody_else_is_carried() {
        let papers = Certificates::make();
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = server.local_addr().unwrap();
        let url = format!("zookeeper+tls://localhost?{}", papers.options());
        let url: StoreUrl = url.parse().unwrap();
        let hosts = [("127.0.0.1".to_owned(), at.port())];
        let way = Way::new(&hosts, &mut url.options()).unwrap();
        let relay = Relay::start(&way, &Clock::boot(), PATIENCE).unwrap();
        // It hears at once that it is not talked to.
        let port = relay.hosts().rsplit(':').next().unwrap();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; read -r -t 30 <&3; echo $?");
        let stranger = std::process::Command::new("bash")
            .args(["-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let heard = tokio::task::spawn_blocking(|| stranger.wait_with_output());
        let heard = timeout(PATIENCE * 2, heard)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&heard.stdout), "1\n", "the end");
        // The first who comes to the server is ourselves.
        let ours = TcpStream::connect(relay.hosts()).await.unwrap();
        let (mut carried, _) = timeout(PATIENCE, server.accept()).await.unwrap().unwrap();
        // Which is no server: we hear the end, and the relay says why.
        carried.write_all(b"plainly").await.unwrap();
        let end = timeout(PATIENCE, ours.readable()).await.unwrap();
        assert!(end.is_ok() && matches!(ours.try_read(&mut [0]), Ok(0)));
        let why = relay.trouble().unwrap();
        assert!(why.contains("secureClientPort"), "{why}");
        // Another would have come before.
        let another = timeout(Duration::from_millis(1), server.accept()).await;
        assert!(another.is_err());
    }
}
