//! A proxy that understands MySQL's protocol and sends each statement where it wants.

mod connection;
mod packets;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::error::ServerError;
use super::port::Port;

/// Which session of a client's gets a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Another one than the last statement had; also for what sets a session up.
    Another,
    /// The first, and the second what only reads. What sets a session up goes to both.
    ReadsApart,
}

/// Stands between clients and servers that speak MySQL's protocol, without encryption and
/// passwords. A client sees one session; behind it are two.
///
/// As poolers and splitters of this kind do, it prepares a statement in whichever session it is
/// to run. Dropping it ends all connections.
#[derive(Debug)]
pub struct Router {
    port: Port,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    /// A pooler that gives every statement another session of `server` than the one before had,
    /// whatever that one was set to.
    pub fn swapping(server: SocketAddr) -> Result<Router, ServerError> {
        Router::start([server, server], Rule::Another)
    }

    /// A splitter that sends what only reads to `replica`, and all else to `primary`.
    pub fn splitting(primary: SocketAddr, replica: SocketAddr) -> Result<Router, ServerError> {
        Router::start([primary, replica], Rule::ReadsApart)
    }

    fn start(servers: [SocketAddr; 2], rule: Rule) -> Result<Router, ServerError> {
        let port = Port::choose()?;
        let listener = TcpListener::bind(port.address())?;
        let stops = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stops);
        let accept = move || {
            let mut clients: Vec<TcpStream> = Vec::new();
            for client in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                clients.extend(client.try_clone());
                // Whatever goes wrong is the client's to notice: its connection ends.
                std::thread::spawn(move || connection::serve(client, servers, rule));
            }
            for client in clients {
                let _ = client.shutdown(std::net::Shutdown::Both);
            }
        };
        Ok(Router {
            port,
            stops,
            thread: Some(std::thread::spawn(accept)),
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
