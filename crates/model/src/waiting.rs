//! Who waits on Redis comes to own: the queue, its words and its kept places.
//!
//! Each of three contenders bids once, owns for as long as it likes within its lease,
//! releases and is done. Calls are answered at once; what can go wrong is that one dies,
//! or that a word is lost, [`faults`](Setting::faults) times in all. Time passes only
//! when no contender has anything to do at once, as hearing a word or looking when the lease
//! of another is over. So every history ends, and what has not happened by then never
//! does: that everybody who lives comes to own is checked where nothing more can happen,
//! and that it is in time by a limit that is never reached.

use stateright::{Model, Property};

use crate::redis::Keys;
use crate::rule::Rule;
use crate::store::{Around, InUse, Store};
use crate::words::{Answer, CONTENDERS, Id, Request, Token, name};

/// The bid of each contender: it has one.
const BID: u8 = 1;

/// What the world is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The length of a lease.
    pub lease: u8,
    /// For how long a place is kept.
    pub reserve: u8,
    /// How many may die, or words be lost, together.
    pub faults: u8,
    /// By when the last contender begins.
    pub begins: u8,
    /// Whether the fence names them: none has an id of another.
    pub unique: bool,
    /// Whether waiters look when what refused them is over. Without it, a lost word is one
    /// that nothing makes up for.
    pub looks: bool,
}

impl Setting {
    /// When all who live have surely owned.
    fn limit(&self) -> u8 {
        let each = self.lease + (1 + self.faults) * self.reserve + self.lease * self.faults;
        self.begins + 3 * each
    }
}

/// A contender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Life {
    /// It has not begun.
    #[default]
    Before,
    /// It waits.
    Waiting {
        /// Its place in the queue.
        score: u8,
        /// It is told that it is next.
        told: bool,
        /// When it looks by itself.
        look_in: u8,
    },
    /// It owns.
    Owning {
        /// Its grant.
        token: Token,
        /// Until when.
        left: u8,
    },
    /// It has owned.
    Done,
    /// It has died.
    Dead,
}

/// The world at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WaitingState {
    /// The contenders.
    pub lives: [Life; CONTENDERS],
    /// The store.
    pub keys: Keys,
    /// What time it is.
    pub time: u8,
    /// What has gone wrong.
    pub faults: u8,
    /// One has come before another that waited for longer.
    pub overtaken: bool,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A contender asks, for the first time or because it is told or in time.
    Ask(Id),
    /// It releases.
    Release(Id),
    /// It dies.
    Die(Id),
    /// The word that it is next is lost.
    LoseWord(Id),
    /// Time passes.
    Tick,
}

/// Three that wait for Redis.
#[derive(Clone, Copy, Debug)]
pub struct Waiting(pub Setting);

impl Waiting {
    fn around(&self, state: &WaitingState) -> Around {
        Around {
            lease: self.0.lease,
            reserve: self.0.reserve,
            rule: Rule::Now,
            unique: self.0.unique,
            queues: true,
            hears: state.lives.map(|life| matches!(life, Life::Waiting { .. })),
            clock: 0,
            order: 1,
        }
    }

    /// Carries out `request`, and tells whom it makes the next.
    fn run(&self, state: &mut WaitingState, by: Id, request: Request) -> Answer {
        let before = state.keys;
        let mut around = self.around(state);
        // Who asks listens by the time it is sent away.
        around.hears[usize::from(by)] |= matches!(request, Request::Take { .. });
        let answer = state.keys.run(by, request, &around);
        for id in state.keys.told_since(&before) {
            if let Life::Waiting { told, .. } = &mut state.lives[usize::from(id)] {
                *told = true;
            }
        }
        answer
    }

    fn ask(&self, state: &mut WaitingState, by: Id) {
        let score = match state.lives[usize::from(by)] {
            Life::Waiting { score, .. } => score,
            _ => 0,
        };
        let request = Request::Take {
            nonce: BID,
            score,
            seen: 0,
            reckoned: 0,
        };
        let life = match self.run(state, by, request) {
            Answer::Won { token, left, .. } => {
                let before = state.lives.iter().zip(0..).any(|(life, id)| {
                    let Life::Waiting { score: its, .. } = life else {
                        return false;
                    };
                    id != by && (score == 0 || *its < score)
                });
                state.overtaken |= before;
                Life::Owning { token, left }
            }
            Answer::Refused { score, .. } => Life::Waiting {
                score,
                told: false,
                look_in: state.keys.left(),
            },
            _ => return,
        };
        state.lives[usize::from(by)] = life;
    }

    fn tick(&self, state: &mut WaitingState) {
        state.time += 1;
        state.keys.tick();
        for life in &mut state.lives {
            match life {
                Life::Waiting { look_in, .. } => *look_in = look_in.saturating_sub(1),
                // What is over needs no release.
                Life::Owning { left: 1, .. } => *life = Life::Done,
                Life::Owning { left, .. } => *left -= 1,
                _ => {}
            }
        }
    }

    /// Whether it is about to ask.
    fn is_due(&self, life: Life, time: u8) -> bool {
        match life {
            Life::Before => time >= self.0.begins,
            Life::Waiting { told, look_in, .. } => told || (look_in == 0 && self.0.looks),
            _ => false,
        }
    }

    /// Places in the queue without gaps, and numbers too.
    fn named(mut state: WaitingState) -> WaitingState {
        let mut in_use = InUse::default();
        state.keys.uses(&mut in_use);
        for life in state.lives {
            match life {
                Life::Waiting { score, .. } => in_use.score(score),
                Life::Owning { token, .. } => in_use.token(token),
                _ => {}
            }
        }
        let names = in_use.names();
        state.keys = state.keys.renamed(&names);
        for life in &mut state.lives {
            match life {
                Life::Waiting { score, .. } => *score = names.scores[usize::from(*score)],
                Life::Owning { token, .. } => *token = names.token(*token),
                _ => {}
            }
        }
        state
    }
}

impl Model for Waiting {
    type State = WaitingState;
    type Action = Action;

    fn init_states(&self) -> Vec<WaitingState> {
        vec![WaitingState::default()]
    }

    fn actions(&self, state: &WaitingState, actions: &mut Vec<Action>) {
        let mut due = false;
        let mut alive = false;
        for (life, id) in state.lives.into_iter().zip(0..) {
            let is_due = self.is_due(life, state.time);
            due |= is_due;
            alive |= !matches!(life, Life::Done | Life::Dead);
            if is_due || life == Life::Before {
                actions.push(Action::Ask(id));
            }
            if matches!(life, Life::Owning { .. }) {
                actions.push(Action::Release(id));
            }
            if state.faults < self.0.faults && !matches!(life, Life::Done | Life::Dead) {
                actions.push(Action::Die(id));
                if matches!(life, Life::Waiting { told: true, .. }) {
                    actions.push(Action::LoseWord(id));
                }
            }
        }
        if alive && !due && state.time <= self.0.limit() {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, last: &WaitingState, action: Action) -> Option<WaitingState> {
        let mut state = *last;
        match action {
            Action::Ask(id) => self.ask(&mut state, id),
            Action::Release(id) => {
                let Life::Owning { token, .. } = state.lives[usize::from(id)] else {
                    return None;
                };
                state.lives[usize::from(id)] = Life::Done;
                self.run(&mut state, id, Request::Release { nonce: BID, token });
            }
            Action::Die(id) => {
                state.faults += 1;
                state.lives[usize::from(id)] = Life::Dead;
            }
            Action::LoseWord(id) => {
                state.faults += 1;
                if let Life::Waiting { told, .. } = &mut state.lives[usize::from(id)] {
                    *told = false;
                }
            }
            Action::Tick => self.tick(&mut state),
        }
        Some(Self::named(state))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::eventually(ALL_OWN, |_, state| {
                let over = |life: &Life| matches!(life, Life::Done | Life::Dead);
                state.lives.iter().all(over)
            }),
            Property::<Self>::always(IN_TIME, |waiting, state| state.time <= waiting.0.limit()),
            Property::<Self>::always(IN_ORDER, |waiting, state| {
                // One that has lost its turn by a fault is overtaken.
                !state.overtaken || waiting.0.faults > 0
            }),
            Property::<Self>::sometimes("all three wait or own", |_, state| {
                let is_in =
                    |life: &Life| matches!(life, Life::Waiting { .. } | Life::Owning { .. });
                state.lives.iter().all(is_in)
            }),
        ]
    }
}

/// A released mutex, or one whose owner has died, is taken by the next waiter.
pub const ALL_OWN: &str = "whoever waits and lives comes to own";
/// The limit of time is not what ends a history.
pub const IN_TIME: &str = "nobody waits for longer than leases and kept places last";
/// Redis has a queue.
pub const IN_ORDER: &str = "who waits first owns first";

/// A step, for people.
#[must_use]
pub fn sentence(action: Action) -> String {
    match action {
        Action::Ask(id) => format!("{} asks", name(id)),
        Action::Release(id) => format!("{} releases", name(id)),
        Action::Die(id) => format!("{} dies", name(id)),
        Action::LoseWord(id) => format!("the word to {} is lost", name(id)),
        Action::Tick => "time passes".to_owned(),
    }
}
