//! Mutexes that this client has taken several times running, with no other contender
//! in between.
//!
//! The number of a contender is the count of all that were ever created under the
//! mutex. So one whose number follows that of our own last node has no other before it,
//! if that node stood there alone, is gone, and lay under the same parent; and nothing
//! need be listed. A server removes an empty parent, and counts in the next one from
//! zero: that its parent is the same is said by a watch on it that is quiet, on a parent
//! that is older than a node of the run.

use std::collections::VecDeque;

use super::asked_watch::AskedWatch;
use super::connection_number::ConnectionNumber;
use crate::model::{FencingToken, MutexName};
use crate::sync::Mutex;

/// How many are known, those that were taken last. Each may have a watch, which counts
/// among those of the client.
const MOST: usize = 32;

/// After how many takes running the parent is watched, which is one request.
const ENOUGH: u32 = 2;

/// What is asked beside the creation of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    List,
    /// And a watch on the parent.
    ListAndWatch,
}

#[derive(Debug)]
struct Run {
    name: MutexName,
    /// The number of our last node, which may come again under another parent, and the
    /// transaction that made it.
    sequence: i64,
    token: FencingToken,
    /// This node is gone.
    is_free: bool,
    /// How many takes running.
    takes: u32,
    /// The connection on which all of this was seen.
    connection: ConnectionNumber,
    /// On the parent of the run's nodes.
    watch: Option<AskedWatch>,
}

#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<VecDeque<Run>>);

impl Runs {
    /// What a bid for `name` asks for beside the creation of its node.
    pub(super) fn beside(&self, name: &MutexName, connection: ConnectionNumber) -> Beside {
        let mut runs = self.0.lock();
        let run = runs.iter_mut().find(|run| run.name == *name);
        let run =
            run.filter(|run| run.is_free && run.connection == connection && run.takes >= ENOUGH);
        match run.map(|run| (run.watch.is_some(), run.is_quiet())) {
            Some((_, true)) => Beside::Nothing,
            Some((false, _)) => Beside::ListAndWatch,
            _ => Beside::List,
        }
    }

    /// Whether it is known that the node of `name` which was just created with this number
    /// is the first of all. If so, the run goes on; otherwise it is over. To be asked with
    /// the connection of now, once the creation is answered.
    pub(super) fn goes_on(
        &self,
        name: &MutexName,
        connection: ConnectionNumber,
        (sequence, token): (i64, FencingToken),
    ) -> bool {
        let mut runs = self.0.lock();
        let at = runs.iter().position(|run| run.name == *name);
        let Some(mut run) = at.and_then(|at| runs.remove(at)) else {
            return false;
        };
        let follows = run.is_free && run.connection == connection && run.sequence + 1 == sequence;
        if !follows || !run.is_quiet() {
            return false;
        }
        (run.sequence, run.token, run.is_free) = (sequence, token, false);
        runs.push_back(run);
        true
    }

    /// The node of `name` with this number was listed alone. `watch` is on its parent, if
    /// that is watched.
    pub(super) fn listed(
        &self,
        name: &MutexName,
        connection: ConnectionNumber,
        (sequence, token): (i64, FencingToken),
        watch: Option<AskedWatch>,
    ) {
        let mut runs = self.0.lock();
        let at = runs.iter().position(|run| run.name == *name);
        let before = at.and_then(|at| runs.remove(at));
        let before = before.filter(|run| {
            run.is_free && run.connection == connection && run.sequence + 1 == sequence
        });
        while runs.len() >= MOST {
            runs.pop_front();
        }
        runs.push_back(Run {
            name: name.clone(),
            sequence,
            token,
            is_free: false,
            takes: before.map_or(0, |run| run.takes) + 1,
            connection,
            watch: watch.filter(|watch| watch.connection() == connection),
        });
    }

    /// Our node of `name` which this transaction had made was deleted, as the server has
    /// said.
    pub(super) fn freed(&self, name: &MutexName, token: FencingToken) {
        let mut runs = self.0.lock();
        let run = runs.iter_mut().find(|run| run.name == *name);
        if let Some(run) = run.filter(|run| run.token == token) {
            run.is_free = true;
        }
    }

    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }
}

impl Run {
    /// Whether the parent is watched, and nothing has happened to it.
    fn is_quiet(&mut self) -> bool {
        if self.watch.as_mut().is_some_and(AskedWatch::has_fired) {
            self.watch = None;
        }
        self.watch.is_some()
    }
}
