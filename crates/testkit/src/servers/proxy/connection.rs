//! Carries the bytes of one connection.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::net::connect_unspec;
use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{self, Duration, Instant};

use super::control::{Client, Control, Rules};
use super::{Flow, Way};

/// How many pieces may wait for a slow or held direction; then TCP makes the sender wait.
const WAITING: usize = 64;

/// What was read, and when.
enum Piece {
    Bytes(Vec<u8>),
    /// The sender has closed its side.
    End,
    /// The sender has reset the connection.
    Broken,
}

/// The connection is to be reset.
struct Cut;

/// A socket whose connection is reset at once when it is dropped, unless it ended well.
struct Reset {
    stream: TcpStream,
    ended_well: bool,
}

impl Reset {
    fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Reset {
            stream,
            ended_well: false,
        }
    }
}

impl Drop for Reset {
    fn drop(&mut self) {
        if !self.ended_well {
            // Closing the socket resets the connection, but only when a process that another
            // thread is just starting has closed its copy too. On Linux the second call does it
            // without waiting.
            let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
            let _ = connect_unspec(&self.stream);
        }
    }
}

/// Counts a connection for as long as it lives, however it ends.
pub(super) struct Counted {
    control: Arc<Control>,
    generation: u64,
}

impl Counted {
    pub(super) fn new(control: &Arc<Control>, generation: u64) -> Self {
        control.opened(generation);
        Counted {
            control: Arc::clone(control),
            generation,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.control.closed(self.generation);
    }
}

/// Resets a connection that was not carried yet.
pub(super) fn refuse(client: TcpStream) {
    drop(Reset::new(client));
}

/// Connects to the server and carries bytes until both sides have closed or it is cut.
///
/// `counted` outlives the sockets: when the count goes down, they are closed.
pub(super) async fn carry(client: TcpStream, server: SocketAddr, counted: Counted) {
    let control = &*counted.control;
    let mut rules = control.watch();
    let held_back = rules.borrow().held_back;
    let Ok(peer) = client.peer_addr().map(|address| Client {
        address: address.ip(),
        held_back,
        number: control.number(),
    }) else {
        return;
    };
    let client = Reset::new(client);
    let both_ways = async {
        // No handshake gets through while either direction is held.
        let open = |rules: &Rules| !rules.holds(peer);
        control.watch().wait_for(open).await.map_err(|_| Cut)?;
        let mut server = Reset::new(TcpStream::connect(server).await.map_err(|_| Cut)?);
        let mut client = client;
        {
            let (from_client, to_client) = client.stream.split();
            let (from_server, to_server) = server.stream.split();
            tokio::try_join!(
                one_way(Way::ToServer, peer, from_client, to_server, control),
                one_way(Way::ToClient, peer, from_server, to_client, control),
            )?;
        }
        client.ended_well = true;
        server.ended_well = true;
        Ok::<(), Cut>(())
    };
    tokio::pin!(both_ways);
    let silenced = rules.borrow().silenced;
    let cut = |rules: &Rules| rules.generation != counted.generation;
    let silent = |rules: &Rules| rules.silenced != silenced;
    tokio::select! {
        biased;
        // First: what is healed in the same moment does not pass any more.
        _ = rules.wait_for(|rules| cut(rules) || silent(rules)) => {}
        _ = &mut both_ways => {}
    }
    if silent(&control.watch().borrow()) {
        // Both sockets stay open, and their bytes are not carried.
        let _ = control.watch().wait_for(cut).await;
    }
}

async fn one_way(
    way: Way,
    peer: Client,
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    control: &Control,
) -> Result<(), Cut> {
    // Reading goes on while earlier pieces wait, so a delay does not narrow the bandwidth.
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let read = async move {
        loop {
            let mut bytes = vec![0; 16 * 1024];
            let piece = match from.read(&mut bytes).await {
                Ok(0) => Piece::End,
                Ok(length) => {
                    bytes.truncate(length);
                    Piece::Bytes(bytes)
                }
                Err(_) => Piece::Broken,
            };
            let last = !matches!(piece, Piece::Bytes(_));
            if sender.send((Instant::now(), piece)).await.is_err() || last {
                return Ok(());
            }
        }
    };
    let write = async {
        let mut rules = control.watch();
        let mut messages = control.messages(way);
        while let Some((arrived, piece)) = receiver.recv().await {
            pass(way, peer, arrived, &mut rules).await;
            match piece {
                Piece::Broken => return Err(Cut),
                Piece::End => return to.shutdown().await.map_err(|_| Cut),
                Piece::Bytes(mut bytes) => {
                    let has_come = control.has_come(way, &bytes);
                    if has_come && way == Way::ToClient {
                        // Before it hears of it, and can say anything more.
                        control.hold_back(peer);
                    }
                    if way == Way::ToServer && control.is_late(&bytes) {
                        control.change(|rules| rules.late.push(peer.number));
                        pass(way, peer, arrived, &mut rules).await;
                    }
                    let ends = messages.as_mut().map(|messages| messages.ends(&bytes));
                    if let Some(at) = ends.and_then(|ends| control.fall_silent(&ends)) {
                        let rest = bytes.split_off(at);
                        put(&mut to, &bytes, way, peer, &mut rules).await?;
                        pass(way, peer, arrived, &mut rules).await;
                        bytes = rest;
                    }
                    let allowed = control.spend(way, bytes.len());
                    put(&mut to, &bytes[..allowed], way, peer, &mut rules).await?;
                    if allowed < bytes.len() {
                        return Err(Cut);
                    }
                    if has_come && way == Way::ToServer {
                        control.change(|rules| rules.flows = [Flow::Hold; 2]);
                    }
                }
            }
        }
        Ok(())
    };
    tokio::try_join!(read, write).map(drop)
}

/// Sends the bytes on, one at a time while they drip.
async fn put(
    to: &mut WriteHalf<'_>,
    mut bytes: &[u8],
    way: Way,
    peer: Client,
    rules: &mut watch::Receiver<Rules>,
) -> Result<(), Cut> {
    while let Some((first, rest)) = bytes.split_first() {
        let flow = rules.borrow_and_update().flow(way, peer);
        let Flow::Drip(gap) = flow else { break };
        to.write_all(std::slice::from_ref(first))
            .await
            .map_err(|_| Cut)?;
        bytes = rest;
        tokio::select! {
            () = time::sleep(gap) => {}
            _ = rules.changed() => {}
        }
    }
    to.write_all(bytes).await.map_err(|_| Cut)
}

/// Waits until what arrived then may pass.
async fn pass(way: Way, peer: Client, arrived: Instant, rules: &mut watch::Receiver<Rules>) {
    loop {
        let flow = rules.borrow_and_update().flow(way, peer);
        match flow {
            Flow::Pass | Flow::Drip(_) => return,
            // The rules live as long as the connection, so this is never an error.
            Flow::Hold => drop(rules.changed().await),
            Flow::Delay(delay) => tokio::select! {
                () = time::sleep_until(arrived + delay) => return,
                _ = rules.changed() => {}
            },
        }
    }
}
