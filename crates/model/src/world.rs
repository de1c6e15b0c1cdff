//! Three contenders, a store, and everything that can happen between them.
//!
//! A request may be carried out at any time after it was sent, also long after its sender
//! has given it up; its answer may be lost, or come late. At most
//! [`late`](Setting::late) requests that were given up are on their way at a time; what
//! is given up beyond that is lost. Nothing else is bounded: the times are those that are
//! left, the numbers only an order, the bids only told apart, so the worlds are finite
//! and stand for histories of any length.
//!
//! A contender does not bring back the place in the queue that it had: who comes first is
//! the business of [`waiting`](crate::waiting), and no contender owns by being first.
//!
//! All clocks go alike. What clocks that do not may cost is the margin's business, and
//! that of `src/engine/tests/sim`.

use stateright::{Model, Property};

use crate::action::Action;
use crate::client::{Client, GIVE_UP_PLACE, Heard, Phase, Then};
use crate::naming;
use crate::property;
use crate::rule::Rule;
use crate::setting::{LATE, Replicas, Setting};
use crate::store::{Around, Store};
use crate::words::{Answer, CONTENDERS, Id, Nonce, Request, Token};

/// A request that its sender does not wait for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Late {
    /// Who sent it.
    pub by: Id,
    /// What it is.
    pub request: Request,
}

/// A world at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldState<S> {
    /// The contenders.
    pub clients: [Client; CONTENDERS],
    /// What was given up and is on its way.
    pub late: [Option<Late>; LATE],
    /// The store that answers.
    pub master: S,
    /// What its replica has.
    pub replica: Option<S>,
    /// The largest number of all grants.
    pub top: u8,
    /// The largest before this tick: what the store's clock stands for.
    pub clock: u8,
    /// The order of the last grant.
    pub order: u8,
    /// For how long the JVM peer believes that it owns.
    pub peer: u8,
    /// How long ago the store failed over, at most a lease.
    pub since: u8,
    /// The token of the last write to the register that compares them.
    pub register: Token,
    /// A write that is on its way there, also when its owner does not own any more. One is
    /// enough to be stale.
    pub writing: Option<Token>,
    /// A later grant had no larger number.
    pub fell: bool,
    /// The register has taken a write of an owner before the last writer.
    pub stale: bool,
}

/// Three contenders on a store.
#[derive(Clone, Copy, Debug)]
pub struct World<S> {
    /// What it is made of.
    pub setting: Setting,
    store: std::marker::PhantomData<S>,
}

impl<S: Store> World<S> {
    /// A world.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let store = std::marker::PhantomData;
        Self { setting, store }
    }

    fn waits(&self) -> bool {
        self.setting.replicas == Replicas::Confirming
    }

    /// What the store may know while it carries out what a contender asks that has an id of
    /// its own, or not.
    fn around(&self, state: &WorldState<S>, unique: bool) -> Around {
        Around {
            lease: self.setting.lease,
            reserve: self.setting.reserve,
            rule: self.setting.rule,
            unique: unique || self.setting.rule == Rule::NamedThoughThePeerHasItsId,
            queues: self.setting.queues,
            hears: state.clients.map(|client| match client.phase {
                Phase::Bidding => true,
                Phase::Out => false,
                _ => self.setting.lingers,
            }),
            clock: state.clock,
            order: state.order + 1,
        }
    }

    /// Carries out `request`, and answers.
    fn run(&self, state: &mut WorldState<S>, by: Id, request: Request) -> Answer {
        let around = self.around(state, state.clients[usize::from(by)].unique);
        let answer = state.master.run(by, request, &around);
        if let Answer::Won { token, found, .. } = answer
            && !found
        {
            state.fell |= token.number <= state.top;
            state.top = state.top.max(token.number);
            state.order = token.order;
        }
        answer
    }

    /// What becomes of a contender by what it hears.
    fn hear(&self, state: &mut WorldState<S>, by: Id) -> Option<()> {
        let client = &mut state.clients[usize::from(by)];
        let Heard { answer, confirmed } = client.heard.take()?;
        if self.waits() && !confirmed {
            // It asks again, or renews again.
            if self.setting.rule == Rule::UndoneInsideTheBid && client.phase == Phase::Bidding {
                let request = client.leave();
                self.give_up(state, Late { by, request })?;
            }
            return Some(());
        }
        let by_rule = |left: u8| match self.setting.rule {
            Rule::CountedFromTheAnswer => self.setting.lease,
            _ => left,
        };
        match (client.phase, answer) {
            (Phase::Bidding, Answer::Won { token, left, .. }) => {
                client.own(token, by_rule(left));
                // Who waits in the queue goes on to wait. Of others it makes no difference.
                if let Phase::Freeing { then, .. } = &mut client.phase
                    && self.setting.queues
                    && client.unique
                {
                    *then = Then::Again;
                }
            }
            (Phase::Owning { token, .. }, Answer::Extended { left }) => {
                client.own(token, by_rule(left));
            }
            _ => {}
        }
        Some(())
    }

    /// Puts `late` on its way, if there is room.
    fn give_up(&self, state: &mut WorldState<S>, late: Late) -> Option<()> {
        let mut room = state.late[..self.setting.late].iter_mut();
        *room.find(|place| place.is_none())? = Some(late);
        Some(())
    }

    /// Has `request` carried out now, or late.
    fn do_or_give_up(&self, state: &mut WorldState<S>, late: Late, is_late: bool) -> Option<()> {
        if is_late {
            return self.give_up(state, late);
        }
        self.run(state, late.by, late.request);
        Some(())
    }

    /// Loses `request`, or lets it come late.
    fn lose_or_give_up(&self, state: &mut WorldState<S>, late: Late, is_late: bool) -> Option<()> {
        match is_late {
            true => self.give_up(state, late),
            false => Some(()),
        }
    }

    /// The smallest nonce that no bid of `by` has, as far as is known.
    fn nonce(state: &WorldState<S>, by: Id) -> Nonce {
        let is_known = |nonce: &Nonce| {
            let late = state.late.iter().flatten();
            let mut late = late.filter(|late| late.by == by);
            late.any(|late| late.request.nonce() == *nonce)
                || state.clients[usize::from(by)].knows(*nonce)
                || state.master.grant(by, *nonce).is_some()
                || state
                    .replica
                    .is_some_and(|it| it.grant(by, *nonce).is_some())
        };
        (1..).find(|nonce| !is_known(nonce)).unwrap_or_default()
    }

    fn tick(&self, state: &mut WorldState<S>) {
        state.master.tick();
        if let Some(replica) = &mut state.replica {
            replica.tick();
        }
        for client in &mut state.clients {
            client.tick();
        }
        state.peer = state.peer.saturating_sub(1);
        state.clock = state.top;
        state.since = (state.since + 1).min(self.setting.lease);
    }

    fn fail_over(&self, state: &mut WorldState<S>) {
        self.tick(state);
        state.master = state.replica.unwrap_or_default();
        state.since = 0;
        for client in &mut state.clients {
            // What was not confirmed by then never will be.
            client.heard = client.heard.filter(|it| !self.waits() || it.confirmed);
        }
        if self.setting.rule == Rule::ReckonedAcrossAFailOver {
            return;
        }
        // A clock is reckoned for one connection. What comes late to this server is what
        // was sent to it.
        for late in state.late.iter_mut().flatten() {
            if let Request::Take { reckoned, .. } = &mut late.request {
                *reckoned = 0;
            }
        }
    }

    /// The bid of `client`, which names its token by the clock, where it may: past all that was
    /// granted by now. It lags once it is late. Where replicas are waited for none is named.
    fn take(&self, client: &Client, top: u8) -> Request {
        let names = self.setting.reckons && !self.waits();
        client.take(top * u8::from(names))
    }

    /// Does what others do to the keys.
    fn meddle(&self, state: &mut WorldState<S>, action: Action) -> Option<()> {
        let (peer, lease) = (self.setting.peer?, self.setting.lease);
        match action {
            Action::PeerTakes => {
                let is_its = state.peer > 0;
                let takes = state.master.peer_takes(peer, is_its, lease);
                state.peer = lease * u8::from(takes);
            }
            Action::PeerFrees => {
                state.master.peer_frees(peer);
                state.peer = 0;
            }
            _ => {
                // It is unused for a time before.
                self.tick(state);
                state.master.prune();
            }
        }
        Some(())
    }

    /// Carries out `request` of `by`, which hears what it came to.
    fn ask(&self, state: &mut WorldState<S>, by: Id, request: Request) {
        let answer = self.run(state, by, request);
        let client = &mut state.clients[usize::from(by)];
        match answer {
            Answer::Won { .. } | Answer::Extended { .. } => {
                let is_found = matches!(answer, Answer::Won { found: true, .. });
                let confirmed = is_found && self.setting.rule == Rule::FoundWithoutAWrite;
                client.heard = Some(Heard { answer, confirmed });
            }
            Answer::Refused { seen, .. } => {
                if !S::HAS_NONCES {
                    client.seen = client.seen.max(seen);
                }
            }
            Answer::Gone => {
                if let Phase::Owning { token, .. } = client.phase {
                    client.own(token, 0);
                }
            }
            Answer::Done => {}
        }
    }

    /// Does what a contender does by itself.
    fn act(&self, state: &mut WorldState<S>, by: Id, action: Action) -> Option<()> {
        let (nonce, top) = (Self::nonce(state, by), state.top);
        let client = &mut state.clients[usize::from(by)];
        match action {
            Action::Begin(_) => {
                client.nonce = nonce;
                client.phase = Phase::Bidding;
            }
            Action::Ask(_) => {
                let request = self.take(client, top);
                self.ask(state, by, request);
            }
            Action::AskUnheard(_) => {
                let request = self.take(client, top);
                self.run(state, by, request);
            }
            Action::AskLate(_) => {
                let request = self.take(client, top);
                self.give_up(state, Late { by, request })?;
            }
            Action::Hear(_) => self.hear(state, by)?,
            Action::Miss(_) => client.heard = None,
            Action::Stumble(_, is_late) => {
                let request = match self.setting.rule {
                    Rule::PlaceGivenUpByItsNonce => client.leave(),
                    _ => GIVE_UP_PLACE,
                };
                self.do_or_give_up(state, Late { by, request }, is_late)?;
            }
            Action::Renew(_) => {
                let request = client.renew()?;
                self.ask(state, by, request);
            }
            Action::RenewLate(_) => {
                let request = client.renew()?;
                self.give_up(state, Late { by, request })?;
            }
            Action::End(_) => {
                let held = client.token();
                client.heard = None;
                let then = Then::Open;
                client.phase = Phase::Freeing { held, then };
            }
            Action::Last(_) => {
                let Phase::Freeing { then, .. } = &mut client.phase else {
                    return None;
                };
                *then = Then::Nothing;
            }
            Action::Free(_, is_late) => {
                let request = client.give_back();
                self.do_or_give_up(state, Late { by, request }, is_late)?;
            }
            Action::Settle(_, tidy) => {
                let request = client.leave();
                client.settle();
                self.lose_or_give_up(state, Late { by, request }, tidy)?;
            }
            Action::Again(_, tidy) => {
                let Phase::Freeing {
                    held: Some(token), ..
                } = client.phase
                else {
                    return None;
                };
                let request = client.leave();
                client.seen = client.seen.max(token.number);
                client.phase = Phase::Bidding;
                self.lose_or_give_up(state, Late { by, request }, tidy)?;
            }
            Action::Write(_, true) => state.writing = Some(client.token()?),
            Action::Write(_, false) => {
                let token = client.token()?;
                write(state, token)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// What `client` can do, or have done to what it asked.
    fn client_actions(&self, client: &Client, by: Id, actions: &mut Vec<Action>) {
        let both = |action: fn(Id, bool) -> Action| [false, true].map(|late| action(by, late));
        if client.heard.is_some() {
            actions.extend([Action::Hear(by), Action::Miss(by)]);
        }
        match (client.phase, client.heard) {
            (Phase::Out, _) => actions.push(Action::Begin(by)),
            (Phase::Bidding, None) => {
                actions.extend([Action::Ask(by), Action::AskUnheard(by)]);
                actions.extend([Action::AskLate(by), Action::End(by)]);
                if self.setting.queues {
                    actions.extend(both(Action::Stumble));
                }
            }
            (Phase::Owning { .. }, None) => {
                actions.extend([Action::Renew(by), Action::RenewLate(by), Action::End(by)]);
            }
            (Phase::Freeing { held, then }, _) => {
                if client.unique && held.is_some() && then == Then::Open {
                    actions.push(Action::Last(by));
                }
                actions.extend(both(Action::Free));
                actions.extend(both(Action::Settle));
                // A campaign stands again after a tenure; whatever else begins has an id of its
                // own, or a nonce.
                if !S::HAS_NONCES && held.is_some() {
                    actions.push(Action::Again(by, false));
                    let by_id = self.setting.rule == Rule::UndoneByAnIdThatGoesOn;
                    actions.extend(by_id.then_some(Action::Again(by, true)));
                }
            }
            _ => {}
        }
        if client.owns() && self.setting.writes {
            actions.extend(both(Action::Write));
        }
    }
}

impl<S: Store> Model for World<S> {
    type State = WorldState<S>;
    type Action = Action;

    fn init_states(&self) -> Vec<WorldState<S>> {
        let client = |unique| Client {
            unique,
            ..Client::default()
        };
        vec![WorldState {
            clients: [0, 1, 2].map(|by| client(by < self.setting.unique)),
            replica: (self.setting.replicas != Replicas::None).then(S::default),
            since: self.setting.lease,
            ..WorldState::default()
        }]
    }

    fn actions(&self, state: &WorldState<S>, actions: &mut Vec<Action>) {
        for (client, by) in state.clients.iter().zip(0..) {
            self.client_actions(client, by, actions);
        }
        for (place, late) in state.late.iter().enumerate() {
            if late.is_some() {
                actions.extend([Action::Late(place), Action::Lost(place)]);
            }
        }
        if state.writing.is_some() {
            actions.push(Action::Written);
        }
        if state.replica.is_some() {
            actions.extend([Action::Copy, Action::FailOver]);
        }
        if self.setting.peer.is_some() {
            actions.extend([Action::PeerTakes, Action::Prune]);
            actions.extend((state.peer > 0).then_some(Action::PeerFrees));
        }
        actions.push(Action::Tick);
    }

    fn next_state(&self, last: &WorldState<S>, action: Action) -> Option<WorldState<S>> {
        let mut state = *last;
        match action {
            Action::Late(place) => {
                let late = state.late[place].take()?;
                // No contender hears what it comes to.
                self.run(&mut state, late.by, late.request);
            }
            Action::Lost(place) => state.late[place] = None,
            Action::Copy => {
                state.replica = Some(state.master);
                for heard in state.clients.iter_mut().filter_map(|it| it.heard.as_mut()) {
                    heard.confirmed = self.waits();
                }
            }
            Action::Written => {
                let token = state.writing.take()?;
                write(&mut state, token)?;
            }
            Action::FailOver => self.fail_over(&mut state),
            Action::Tick => self.tick(&mut state),
            Action::PeerTakes | Action::PeerFrees | Action::Prune => {
                self.meddle(&mut state, action)?;
            }
            Action::Begin(by)
            | Action::Ask(by)
            | Action::AskUnheard(by)
            | Action::AskLate(by)
            | Action::Hear(by)
            | Action::Miss(by)
            | Action::Stumble(by, _)
            | Action::Renew(by)
            | Action::RenewLate(by)
            | Action::End(by)
            | Action::Last(by)
            | Action::Free(by, _)
            | Action::Settle(by, _)
            | Action::Again(by, _)
            | Action::Write(by, _) => self.act(&mut state, by, action)?,
        }
        let state = naming::named(state, &self.setting);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        property::all(&self.setting)
    }
}

/// A register that compares tokens takes what is not smaller than the last.
fn write<S>(state: &mut WorldState<S>, token: Token) -> Option<()> {
    if token.number < state.register.number {
        return None;
    }
    state.stale |= token.order < state.register.order;
    state.register = token;
    Some(())
}
