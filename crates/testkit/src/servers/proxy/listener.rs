//! Accepts connections, or does not.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time;

use super::connection::{self, Counted};
use super::control::Control;

/// Serves until told to stop, then cuts what is left.
pub(super) async fn run(
    address: SocketAddr,
    server: SocketAddr,
    control: Arc<Control>,
    stop: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    tokio::select! {
        Err(error) = serve(address, server, &control, &mut connections) => {
            control.set_trouble(error.to_string());
        }
        _ = stop => {}
    }
    // Ended while in use, a connection is reset, not closed: see `connection::Reset`.
    connections.shutdown().await;
}

async fn serve(
    address: SocketAddr,
    server: SocketAddr,
    control: &Arc<Control>,
    connections: &mut JoinSet<()>,
) -> io::Result<()> {
    let mut rules = control.watch();
    loop {
        let open = Open(bind(address).await?);
        let listener = &open.0;
        let mut carry = |client, generation| {
            while connections.try_join_next().is_some() {}
            let counted = Counted::new(control, generation);
            connections.spawn(connection::carry(client, server, counted));
        };
        let mut generation = rules.borrow().generation;
        control.set_listening(Some(generation));
        loop {
            let now = rules.borrow_and_update().clone();
            // Clients that connected before the change must meet the old rules, though they
            // may not have been accepted yet.
            if now.generation != generation {
                waiting(listener)?.into_iter().for_each(connection::refuse);
                generation = now.generation;
                control.set_listening(Some(generation));
            }
            if now.refuse {
                let clients = waiting(listener)?.into_iter();
                clients.for_each(|client| carry(client, generation));
                break;
            }
            tokio::select! {
                biased;
                changed = rules.changed() => changed.map_err(io::Error::other)?,
                // A client that left before it was accepted is its own affair.
                accepted = listener.accept() => if let Ok((client, _)) = accepted {
                    carry(client, generation);
                },
            }
        }
        // Only a closed port is refused by the system, as that of a dead server is.
        drop(open);
        control.set_listening(None);
        rules
            .wait_for(|rules| !rules.refuse)
            .await
            .map_err(io::Error::other)?;
    }
}

/// A port that is closed at once when this is dropped.
///
/// Closing the socket is not enough: a process that another thread is just starting holds a
/// copy of it until it runs its program.
struct Open(TcpListener);

impl Drop for Open {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }
}

/// The connections that wait to be accepted. The system is asked, since the runtime may not
/// have heard of them yet.
fn waiting(listener: &TcpListener) -> io::Result<Vec<TcpStream>> {
    let listener = std::net::TcpListener::from(listener.as_fd().try_clone_to_owned()?);
    let accepted = std::iter::from_fn(|| listener.accept().ok());
    accepted
        .map(|(client, _)| {
            client.set_nonblocking(true)?;
            TcpStream::from_std(client)
        })
        .collect()
}

/// The port is ours, but a foreign process may hold it for a moment.
async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    for _ in 0..100 {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                time::sleep(Duration::from_millis(50)).await;
            }
            other => return other,
        }
    }
    TcpListener::bind(address).await
}
