//! A TCP proxy that breaks the network between clients and a server.

mod connection;
mod control;
mod listener;
mod speech;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use control::Control;
pub use speech::Speech;
use tokio::sync::oneshot;

use super::error::ServerError;
use super::port::Port;

/// One of the two directions of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Requests.
    ToServer,
    /// Replies.
    ToClient,
}

/// What happens to the bytes that go one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// They pass.
    Pass,
    /// They pass, this much later. Their order and the bandwidth stay.
    Delay(Duration),
    /// They pass one at a time, this far apart.
    Drip(Duration),
    /// They do not arrive, nor does the end of the connection; neither side is told. As with lost
    /// packets, TCP delivers them if the network heals before the connection is cut.
    Hold,
}

/// A proxy in front of one address.
///
/// It runs on a thread and a runtime of its own, so it works in any test, also one whose clock
/// is paused. When [`cut`](Proxy::cut), [`refuse`](Proxy::refuse) and [`heal`](Proxy::heal)
/// return, they have happened. Dropping it cuts all connections.
#[derive(Debug)]
pub struct Proxy {
    port: Arc<Port>,
    control: Arc<Control>,
    // Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in front of `server`; everything passes.
    pub fn start(server: SocketAddr) -> Result<Proxy, ServerError> {
        Proxy::begin(server, Control::default())
    }

    /// The same, which can count what clients say.
    pub fn speaking(speech: Speech, server: SocketAddr) -> Result<Proxy, ServerError> {
        Proxy::begin(server, Control::speaking(speech))
    }

    fn begin(server: SocketAddr, control: Control) -> Result<Proxy, ServerError> {
        let port = Arc::new(Port::choose()?);
        let control = Arc::new(control);
        let (stop, stopped) = oneshot::channel();
        let work = listener::run(port.address(), server, Arc::clone(&control), stopped);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ServerError::doing("starting a runtime"))?;
        let thread = std::thread::Builder::new()
            .name("tenure-proxy".to_owned())
            .spawn(move || runtime.block_on(work))
            .map_err(ServerError::doing("starting a thread"))?;
        let proxy = Proxy {
            port,
            control,
            stop: Some(stop),
            thread: Some(thread),
        };
        proxy.control.wait_listening(true)?;
        Ok(proxy)
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The port clients connect to.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Decides what happens to bytes that go this way, on all connections, from now on.
    pub fn set(&self, way: Way, flow: Flow) {
        self.control
            .change(|rules| rules.flows[way as usize] = flow);
    }

    /// Holds the bytes both ways: the other side seems to have vanished.
    pub fn partition(&self) {
        self.control.change(|rules| rules.flows = [Flow::Hold; 2]);
    }

    /// Lets `messages` more of the clients' pass, at least one, counted over all connections,
    /// and then holds the bytes both ways: the server has got the last of them, whole, and
    /// neither side hears anything more. Only for a proxy that was told what is
    /// [spoken](Proxy::speaking).
    pub fn partition_after(&self, messages: u64) {
        self.control.set_messages(Some(messages));
    }

    /// Whether bytes are held, either way.
    pub fn is_holding(&self) -> bool {
        self.control.watch().borrow().flows.contains(&Flow::Hold)
    }

    /// Holds the bytes of clients at `client` that go this way; those of others go on. Servers on one
    /// host can be told apart by the address they connect from, as with Redis's
    /// `bind-source-addr`.
    pub fn part_from(&self, client: IpAddr, way: Way) {
        self.control.change(|rules| rules.apart.push((client, way)));
    }

    /// Lets `bytes` more pass this way, counted over all connections, and then cuts the
    /// connection that would carry the next one. This happens once; later connections pass.
    ///
    /// With `ToServer` the server gets a part of a request; with `ToClient` and 0 it gets the
    /// whole request, and the client never sees the reply.
    pub fn cut_after(&self, way: Way, bytes: u64) {
        self.control.set_budget(way, Some(bytes));
    }

    /// Resets all connections there are, on both sides.
    pub fn cut(&self) -> Result<(), ServerError> {
        self.control.change(|rules| rules.generation += 1);
        self.control.wait_cut()
    }

    /// Silences the connections there are, until they are cut: both sides stay open, nothing
    /// passes, neither side is told. New ones pass. So it is when something on the way has forgotten
    /// a flow.
    pub fn silence(&self) {
        self.control.change(|rules| rules.silenced += 1);
    }

    /// Holds what clients say on the connections there are until all is healed, also when they have
    /// gone by then; new ones pass. So a request may arrive after later ones of the same client.
    pub fn hold_back(&self) {
        self.control.change(|rules| {
            rules.held_back += 1;
            rules.holds_back = true;
        });
    }

    /// Holds what a client says once it has been answered by something with these `words` in it,
    /// the first one that is, as [`hold_back`](Self::hold_back) does: on all connections that there
    /// are then from its address.
    pub fn hold_back_after(&self, words: &[u8]) {
        self.control.await_words(Way::ToClient, Some((words, 1)));
    }

    /// Lets so many requests pass, at least one, that have these `words` in them, and then holds the
    /// bytes both ways, as [`partition_after`](Self::partition_after) does.
    pub fn partition_after_words(&self, words: &[u8], requests: u64) {
        self.control
            .await_words(Way::ToServer, Some((words, requests)));
    }

    /// Holds back every connection from the request on that has these `words` in it, or none from
    /// now on; all else passes. Those that are held stay so.
    pub fn hold_back_words(&self, words: Option<&[u8]>) {
        self.control.set_late(words.map(Into::into));
    }

    /// How many connections are held back by what they have said.
    pub fn late(&self) -> usize {
        let rules = self.control.watch();
        let rules = rules.borrow();
        rules.late.len() - rules.arrived.min(rules.late.len())
    }

    /// Lets the first of them pass.
    pub fn let_one_arrive(&self) {
        self.control.change(|rules| rules.arrived += 1);
    }

    /// Whether what [`hold_back_after`](Self::hold_back_after) or
    /// [`partition_after_words`](Self::partition_after_words) waits for is still to come.
    pub fn is_waiting(&self) -> bool {
        [Way::ToServer, Way::ToClient]
            .into_iter()
            .any(|way| self.control.awaits(way))
    }

    /// Refuses new connections; those there are stay.
    pub fn refuse(&self) -> Result<(), ServerError> {
        self.control.change(|rules| rules.refuse = true);
        self.control.wait_listening(false)
    }

    /// Ends every disturbance. Bytes that were held are delivered.
    pub fn heal(&self) -> Result<(), ServerError> {
        self.control.set_budget(Way::ToServer, None);
        self.control.set_budget(Way::ToClient, None);
        self.control.set_messages(None);
        self.control.await_words(Way::ToServer, None);
        self.control.await_words(Way::ToClient, None);
        self.control.set_late(None);
        self.control.change(|rules| {
            rules.flows = [Flow::Pass; 2];
            rules.refuse = false;
            rules.holds_back = false;
            rules.answered = None;
            rules.late.clear();
            rules.arrived = 0;
            rules.apart.clear();
        });
        self.control.wait_listening(true)
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.control.connections()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
