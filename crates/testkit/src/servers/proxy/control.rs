//! What the test asks for, and what the proxy has made of it.

use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::speech::{Messages, Speech};
use super::{Flow, Way};
use crate::servers::error::ServerError;

/// What the test asks for.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// By direction.
    pub(super) flows: [Flow; 2],
    /// Connections of an older generation are cut.
    pub(super) generation: u64,
    /// Connections that were there when it changed carry nothing any more.
    pub(super) silenced: u64,
    /// How often requests were held back.
    pub(super) held_back: u64,
    /// Whether those of the connections that were there then still are.
    pub(super) holds_back: bool,
    /// The host of which requests are held back on all connections up to this one.
    pub(super) answered: Option<(IpAddr, u64)>,
    /// The connections whose requests are held back, by what they have said.
    pub(super) late: Vec<u64>,
    /// How many of them are not any more, the first of them.
    pub(super) arrived: usize,
    /// No new connections.
    pub(super) refuse: bool,
    /// Nothing passes this way to or from clients at these addresses.
    pub(super) apart: Vec<(IpAddr, Way)>,
}

/// Whose bytes they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// How often requests had been held back when it connected.
    pub(super) held_back: u64,
    /// The number of its connection.
    pub(super) number: u64,
}

impl Rules {
    /// What happens to the bytes of this client that go this way.
    pub(super) fn flow(&self, way: Way, client: Client) -> Flow {
        let is_older = self.holds_back && client.held_back < self.held_back;
        let late = self.late.iter().skip(self.arrived);
        let is_answered = self
            .answered
            .is_some_and(|(address, number)| address == client.address && client.number <= number);
        let is_late =
            is_older || is_answered || late.into_iter().any(|number| *number == client.number);
        if self.apart.contains(&(client.address, way)) || is_late && way == Way::ToServer {
            return Flow::Hold;
        }
        self.flows[way as usize]
    }

    /// Whether no handshake of such a client gets through.
    pub(super) fn holds(&self, client: Client) -> bool {
        [Way::ToServer, Way::ToClient]
            .iter()
            .any(|way| self.flow(*way, client) == Flow::Hold)
    }
}

/// What is.
#[derive(Debug, Default)]
struct ProxyState {
    /// While it listens: the generation new connections belong to.
    listening: Option<u64>,
    /// The generation of each connection.
    connections: Vec<u64>,
    /// By direction: how many bytes pass before a connection is cut.
    budgets: [Option<u64>; 2],
    /// How many messages of clients pass before all is held.
    messages: Option<u64>,
    /// How many connections there were so far.
    numbered: u64,
    /// By direction: what is waited for, and how often it is still to come.
    awaited: [Option<(Vec<u8>, u64)>; 2],
    /// What makes a request late.
    late: Option<Vec<u8>>,
    /// Why the proxy cannot listen.
    trouble: Option<String>,
}

#[derive(Debug)]
pub(super) struct Control {
    speech: Option<Speech>,
    rules: watch::Sender<Rules>,
    state: Mutex<ProxyState>,
    changed: Condvar,
}

impl Default for Control {
    fn default() -> Self {
        let rules = Rules {
            flows: [Flow::Pass; 2],
            generation: 0,
            silenced: 0,
            held_back: 0,
            holds_back: false,
            answered: None,
            late: Vec::new(),
            arrived: 0,
            refuse: false,
            apart: Vec::new(),
        };
        Control {
            speech: None,
            rules: watch::Sender::new(rules),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

impl Control {
    pub(super) fn speaking(speech: Speech) -> Self {
        Control {
            speech: Some(speech),
            ..Control::default()
        }
    }

    /// Counts the messages of one connection that go this way, if they can be told apart.
    pub(super) fn messages(&self, way: Way) -> Option<Messages> {
        self.speech
            .filter(|_| way == Way::ToServer)
            .map(Messages::of)
    }

    pub(super) fn set_messages(&self, messages: Option<u64>) {
        self.state().messages = messages;
    }

    /// Where in the bytes that have messages ending at `ends` all falls silent, and that it
    /// does from now on.
    pub(super) fn fall_silent(&self, ends: &[usize]) -> Option<usize> {
        let mut state = self.state();
        let left = state.messages.as_mut()?;
        for end in ends {
            *left = left.saturating_sub(1);
            if *left == 0 {
                state.messages = None;
                drop(state);
                self.change(|rules| rules.flows = [Flow::Hold; 2]);
                return Some(*end);
            }
        }
        None
    }

    /// Holds back what a client says on all of its connections there are.
    pub(super) fn hold_back(&self, client: Client) {
        let number = self.state().numbered;
        self.change(|rules| rules.answered = Some((client.address, number)));
    }

    /// A number for a new connection.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.state();
        state.numbered += 1;
        state.numbered
    }

    /// What is waited for on this way from now on, and how often it is to come.
    pub(super) fn await_words(&self, way: Way, awaited: Option<(&[u8], u64)>) {
        let awaited = awaited.map(|(words, times)| (words.to_vec(), times));
        self.state().awaited[way as usize] = awaited;
    }

    /// Whether these bytes have what is waited for on this way, for the last time; if so, it is not
    /// any more.
    pub(super) fn has_come(&self, way: Way, bytes: &[u8]) -> bool {
        let awaited = &mut self.state().awaited[way as usize];
        let is_last = |(words, left): &mut (Vec<u8>, u64)| {
            let is_it = has(bytes, words);
            *left = left.saturating_sub(u64::from(is_it));
            is_it && *left == 0
        };
        awaited.take_if(is_last).is_some()
    }

    /// What makes a request late from now on.
    pub(super) fn set_late(&self, words: Option<Vec<u8>>) {
        self.state().late = words;
    }

    /// Whether these bytes of a client are late.
    pub(super) fn is_late(&self, bytes: &[u8]) -> bool {
        let words = &self.state().late;
        words.as_ref().is_some_and(|words| has(bytes, words))
    }

    /// Whether something is still waited for on this way.
    pub(super) fn awaits(&self, way: Way) -> bool {
        self.state().awaited[way as usize].is_some()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Rules)) {
        self.rules.send_modify(change);
    }

    pub(super) fn watch(&self) -> watch::Receiver<Rules> {
        self.rules.subscribe()
    }

    pub(super) fn set_budget(&self, way: Way, bytes: Option<u64>) {
        self.state().budgets[way as usize] = bytes;
    }

    /// Takes `wanted` bytes from the budget. Gives how many may pass; fewer than wanted means
    /// that the connection is to be cut after them, and that this has now happened.
    pub(super) fn spend(&self, way: Way, wanted: usize) -> usize {
        let budget = &mut self.state().budgets[way as usize];
        match budget {
            None => wanted,
            Some(left) if *left >= wanted as u64 => {
                *left -= wanted as u64;
                wanted
            }
            Some(left) => {
                let allowed = *left as usize;
                *budget = None;
                allowed
            }
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.state().connections.len()
    }

    pub(super) fn set_listening(&self, listening: Option<u64>) {
        self.state().listening = listening;
        self.changed.notify_all();
    }

    pub(super) fn set_trouble(&self, trouble: String) {
        self.state().trouble = Some(trouble);
        self.changed.notify_all();
    }

    pub(super) fn opened(&self, generation: u64) {
        self.state().connections.push(generation);
    }

    pub(super) fn closed(&self, generation: u64) {
        let mut state = self.state();
        if let Some(index) = state.connections.iter().position(|&g| g == generation) {
            state.connections.swap_remove(index);
        }
        self.changed.notify_all();
    }

    pub(super) fn wait_listening(&self, wanted: bool) -> Result<(), ServerError> {
        self.wait("to open or close its port", |state| {
            state.listening.is_some() == wanted
        })
    }

    pub(super) fn wait_cut(&self) -> Result<(), ServerError> {
        let generation = self.rules.borrow().generation;
        self.wait("to cut connections", |state| {
            let mut all = state.connections.iter().chain(&state.listening);
            all.all(|&of| of >= generation)
        })
    }

    fn wait(&self, what: &str, holds: impl Fn(&ProxyState) -> bool) -> Result<(), ServerError> {
        let not_yet = |state: &mut ProxyState| state.trouble.is_none() && !holds(state);
        let limit = Duration::from_secs(30);
        let waited = self
            .changed
            .wait_timeout_while(self.state(), limit, not_yet);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        match &state.trouble {
            Some(trouble) => Err(ServerError::new(format!("the proxy has ended: {trouble}"))),
            None if timeout.timed_out() => {
                Err(ServerError::new(format!("the proxy takes too long {what}")))
            }
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len().max(1)).any(|it| it == words)
}
