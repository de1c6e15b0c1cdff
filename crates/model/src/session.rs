//! A session with ZooKeeper: what its owner believes, against what the leader of the
//! ensemble knows of it (decision 13).
//!
//! One owner, its server and the leader are told in full. The two other contenders are as
//! quick as can be: one of them owns the moment the leader ends the session. So an owner that
//! believes for longer than its session lives has another owner beside it, and whether the
//! first or the third of three does so makes no difference.
//!
//! | what happens | how |
//! | --- | --- |
//! | the owner is paused | it sends nothing, and hears what it can when it likes |
//! | a way is held up | what is on it stays there; all ways keep their order |
//! | a server is cut off from the leader | it is held up for ever |
//! | the leader loses the others | it goes on answering `sync`; the next leader gives every session a whole T, from that moment on |
//! | the session moves to another server | what was on its way is lost, the leader hears of the session |
//!
//! The leader asks its servers who has been heard every half tick, in time, which is a
//! quarter of T (two ticks in T, the fewest that are allowed). At one moment it asks before
//! anything else happens: what comes at that moment was sent before, if by little. Questions that stand behind one
//! another in the same way count as one, and so do their answers: then the session is
//! heard of less, which is worse for its owner, and could be so. All clocks go alike.

use stateright::{Model, Property};

use crate::property::NEVER_TWO;

/// How an owner counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// As `src/stores/zookeeper/proof.rs` does.
    Now,
    /// 5/8 T after the last answered request was sent, whatever it proves.
    Old,
    /// T after the last request that was answered T/4 before the last one was sent: the
    /// leader's questions may have stood still on their way.
    AnsweredBefore,
    /// What the leader answers counts, though no server may follow it any more.
    LeaderAlone,
}

/// What a session is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// T, in units; a multiple of four. Of 5/8 T whole units count.
    pub timeout: u8,
    /// How many requests are on their way at a time, up to [`MOST`].
    pub requests: u8,
    /// The rule.
    pub rule: Rule,
}

/// How many requests can be on their way.
pub const MOST: usize = 3;

/// How many ages of an answer are told apart: a quarter of T, and this moment.
const AGES: usize = 5;

/// A request on its way, and what the owner knew as it was sent. All of it is told as how
/// long ago it was, at most T.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Asked {
    sent: u8,
    /// The last request that had been answered a quarter of T before.
    known: u8,
    /// What the leader knows for certain once this is answered.
    proof: u8,
    /// It needs a majority.
    is_write: bool,
}

/// What is on its way between server and leader, the first in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Way([Option<Item>; 2 * MOST + 1]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// "Who has been heard?", or "this session has".
    Ping,
    /// A request, or its answer.
    Request,
}

impl Way {
    fn push(&mut self, item: Item) {
        let count = self.0.iter().flatten().count();
        if item == Item::Ping && count > 0 && self.0[count - 1] == Some(Item::Ping) {
            return;
        }
        self.0[count] = Some(item);
    }

    fn pop(&mut self) -> Option<Item> {
        let first = self.0[0].take()?;
        self.0.rotate_left(1);
        Some(first)
    }
}

/// A session at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionState {
    /// For how long the owner believes yet.
    pub believes: u8,
    /// For how long the session lives yet.
    pub left: u8,
    /// The leader that our server follows leads no other server.
    pub deposed: bool,
    /// The requests on their way, the oldest first.
    asked: [Option<Asked>; MOST],
    /// The last request of those that were answered so many units ago, or longer: when it
    /// was sent.
    answered: [u8; AGES],
    /// The best `known` of those that were answered.
    best: u8,
    /// The last request that the leader knows of for certain.
    reported: u8,
    /// The last answered write.
    written: u8,
    /// How many requests are on their way to the server.
    to_server: u8,
    to_leader: Way,
    from_leader: Way,
    /// How many answers are on their way to the owner.
    to_client: u8,
    /// The session has been heard since the server was last asked.
    touched: bool,
    /// How long ago the leader has asked.
    since_asked: u8,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The owner sends a `sync`, or a write.
    Send(bool),
    /// The server gets a request.
    ServerGets,
    /// The leader gets what the server has sent.
    LeaderGets,
    /// The server gets what the leader has sent.
    ServerHears,
    /// The owner gets an answer.
    Hear,
    /// The leader loses the others, and another is elected at once.
    LoseQuorum,
    /// The session moves to another server.
    Move,
    /// Time passes.
    Tick,
}

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session(pub Setting);

impl Session {
    fn quarter(&self) -> u8 {
        self.0.timeout / 4
    }

    fn send(&self, state: &mut SessionState, is_write: bool) -> Option<()> {
        let place = state.asked.iter().position(Option::is_none)?;
        if place >= usize::from(self.0.requests) {
            return None;
        }
        state.asked[place] = Some(Asked {
            sent: 0,
            known: state.answered[usize::from(self.quarter())],
            proof: state.best,
            is_write,
        });
        state.to_server += 1;
        Some(())
    }

    /// The request that the leader has in front of it: those after it are still on their
    /// way to it, those before it have been answered.
    fn at_leader(state: &SessionState) -> Option<Asked> {
        let requests = |way: &Way| {
            let items = way.0.iter().flatten();
            items.filter(|item| **item == Item::Request).count()
        };
        let answered = requests(&state.from_leader) + usize::from(state.to_client);
        state.asked[answered]
    }

    fn leader_gets(&self, state: &mut SessionState) -> Option<()> {
        if !state.deposed && state.left == 0 {
            // It answers no client whose session is over.
            return None;
        }
        if state.deposed && Self::at_leader(state).is_some_and(|asked| asked.is_write) {
            // No other server takes part; and what comes after it is answered after it.
            let is_it = state.to_leader.0[0] == Some(Item::Request);
            if is_it {
                return None;
            }
        }
        match state.to_leader.pop()? {
            Item::Ping if state.deposed => {}
            Item::Ping => state.left = self.0.timeout,
            Item::Request => state.from_leader.push(Item::Request),
        }
        Some(())
    }

    fn hear(&self, state: &mut SessionState) -> Option<()> {
        state.to_client = state.to_client.checked_sub(1)?;
        let one = state.asked[0].take()?;
        state.asked.rotate_left(1);
        state.answered[0] = state.answered[0].min(one.sent);
        state.best = state.best.min(one.known);
        state.reported = state.reported.min(one.proof);
        if one.is_write {
            state.written = state.written.min(one.sent);
        }
        let timeout = self.0.timeout;
        let cap = (timeout * 5 / 8).saturating_sub(one.sent);
        let after = |age: u8| timeout.saturating_sub(age);
        let believes = match self.0.rule {
            Rule::Now => cap.min(after(state.reported)).min(after(state.written)),
            Rule::Old => cap,
            Rule::AnsweredBefore => cap.min(after(one.known)).min(after(state.written)),
            Rule::LeaderAlone => cap.min(after(state.reported)),
        };
        state.believes = state.believes.max(believes);
        Some(())
    }

    fn tick(&self, state: &mut SessionState) {
        let timeout = self.0.timeout;
        let older = |age: &mut u8| *age = (*age + 1).min(timeout);
        state.believes = state.believes.saturating_sub(1);
        state.left = state.left.saturating_sub(1);
        state.answered.copy_within(..AGES - 1, 1);
        state.answered.iter_mut().for_each(older);
        for asked in state.asked.iter_mut().flatten() {
            [&mut asked.sent, &mut asked.known, &mut asked.proof]
                .into_iter()
                .for_each(older);
        }
        [&mut state.best, &mut state.reported, &mut state.written]
            .into_iter()
            .for_each(older);
        state.since_asked += 1;
        if state.since_asked == self.quarter() {
            state.since_asked = 0;
            state.from_leader.push(Item::Ping);
        }
    }
}

impl Model for Session {
    type State = SessionState;
    type Action = Action;

    /// The leader has just made the session, when it was asked to.
    fn init_states(&self) -> Vec<SessionState> {
        let never = self.0.timeout;
        (0..self.quarter())
            .map(|since_asked| SessionState {
                believes: 0,
                left: self.0.timeout,
                deposed: false,
                asked: [None; MOST],
                answered: [never; AGES],
                best: never,
                reported: 0,
                written: 0,
                to_server: 0,
                to_leader: Way::default(),
                from_leader: Way::default(),
                to_client: 0,
                touched: false,
                since_asked,
            })
            .collect()
    }

    fn actions(&self, state: &SessionState, actions: &mut Vec<Action>) {
        actions.extend([Action::Send(false), Action::Send(true), Action::Hear]);
        actions.extend([Action::ServerGets, Action::LeaderGets, Action::ServerHears]);
        if state.left > 0 {
            actions.push(Action::Move);
            if !state.deposed {
                actions.push(Action::LoseQuorum);
            }
        }
        actions.push(Action::Tick);
    }

    fn next_state(&self, last: &SessionState, action: Action) -> Option<SessionState> {
        let mut state = *last;
        match action {
            Action::Send(is_write) => self.send(&mut state, is_write)?,
            Action::ServerGets => {
                state.to_server = state.to_server.checked_sub(1)?;
                state.touched = true;
                state.to_leader.push(Item::Request);
            }
            Action::LeaderGets => self.leader_gets(&mut state)?,
            Action::ServerHears => match state.from_leader.pop()? {
                Item::Ping if std::mem::take(&mut state.touched) => {
                    state.to_leader.push(Item::Ping);
                }
                Item::Ping => {}
                Item::Request => state.to_client += 1,
            },
            Action::Hear => self.hear(&mut state)?,
            Action::LoseQuorum => {
                state.deposed = true;
                state.left = self.0.timeout;
            }
            Action::Move => {
                state.deposed = false;
                state.left = self.0.timeout;
                state.asked = [None; MOST];
                (state.to_server, state.to_client) = (0, 0);
                (state.to_leader, state.from_leader) = (Way::default(), Way::default());
                state.touched = false;
            }
            Action::Tick => self.tick(&mut state),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let sometimes = Property::<Self>::sometimes;
        vec![
            Property::<Self>::always(NEVER_TWO, |_, state| state.believes == 0 || state.left > 0),
            sometimes("the session ends", |_, state| state.left == 0),
            sometimes(
                "an owner believes at a leader that leads nobody",
                |_, state| state.deposed && state.believes > 0,
            ),
            sometimes(
                "an owner believes for half of T or more",
                |session, state| state.believes >= session.0.timeout / 2,
            ),
        ]
    }
}

/// A step, for people.
#[must_use]
pub fn sentence(action: Action) -> String {
    let text = match action {
        Action::Send(false) => "the owner sends a sync",
        Action::Send(true) => "the owner sends a write",
        Action::ServerGets => "the server has it, and passes it on",
        Action::LeaderGets => "the leader gets what the server has sent",
        Action::ServerHears => "the server gets what the leader has sent",
        Action::Hear => "the owner hears the answer",
        Action::LoseQuorum => "the leader loses the others, and another is elected",
        Action::Move => "the session moves to another server",
        Action::Tick => "time passes, and the leader asks in time who has been heard",
    };
    text.to_owned()
}
