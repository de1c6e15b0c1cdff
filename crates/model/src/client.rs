//! A contender, as `src/engine/machine` has it: one call at a time, a bid that is repeated
//! until it wins, a tenure that ends by its own deadline, and what is given back.
//!
//! It is freer than the real one. It may ask, renew, release and give up whenever it
//! likes, not only when a timer, a hint or a user says so; so nothing here rests on
//! when that is. A crash is one that gives up everything and does not come back.
//!
//! A request is carried out in the step in which it is sent, or it is given up and comes
//! later. That loses nothing: one that takes its time is believed for less, and who may
//! believe for longer may also end sooner. What takes time is the answer, because from there
//! a wrong rule may count. A refusal takes none: it is not believed.

use crate::store::{InUse, Names};
use crate::words::{Answer, Id, NO_BID, Nonce, Request, Token};

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It does not contend.
    #[default]
    Out,
    /// It wants to own, and asks.
    Bidding,
    /// It believes that it owns, for so long yet.
    Owning {
        /// Its grant.
        token: Token,
        /// Until its deadline.
        left: u8,
    },
    /// It does not own any more, by its own word or deadline, and gives back what it had.
    Freeing {
        /// Its grant, if it knew of one.
        held: Option<Token>,
        /// What it wants after that.
        then: Then,
    },
    /// It has ended, and its id with it. Another, with another id, takes its room once
    /// nothing of it is anywhere.
    Gone,
}

/// What a contender wants under its id once it has given back what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Then {
    /// Perhaps to stand again.
    #[default]
    Open,
    /// To stand again: it won too late.
    Again,
    /// Nothing more.
    Nothing,
}

/// That it won or has been extended, on its way back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Heard {
    /// What the store answers.
    pub answer: Answer,
    /// Every replica has what it is about.
    pub confirmed: bool,
}

/// A contender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// How far it has come.
    pub phase: Phase,
    /// No other contender has its id.
    pub unique: bool,
    /// Its bid.
    pub nonce: Nonce,
    /// The largest number that it has seen, where that matters.
    pub seen: u8,
    /// What it is about to hear.
    pub heard: Option<Heard>,
}

impl Client {
    /// Whether it believes that it owns.
    #[must_use]
    pub fn owns(&self) -> bool {
        matches!(self.phase, Phase::Owning { .. })
    }

    /// Its bid, as a request that says what it reckons.
    #[must_use]
    pub fn take(&self, reckoned: u8) -> Request {
        Request::Take {
            nonce: self.nonce,
            score: 0,
            seen: self.seen,
            reckoned,
        }
    }

    /// It owns by `token` until so long from now, or has heard of it too late.
    pub fn own(&mut self, token: Token, left: u8) {
        self.heard = None;
        self.phase = match left {
            0 => Phase::Freeing {
                held: Some(token),
                then: Then::Open,
            },
            left => Phase::Owning { token, left },
        };
    }

    /// What extends its lease, if it owns.
    #[must_use]
    pub fn renew(&self) -> Option<Request> {
        let nonce = self.nonce;
        self.token().map(|token| Request::Renew { nonce, token })
    }

    /// What undoes its bid.
    #[must_use]
    pub fn leave(&self) -> Request {
        Request::Leave {
            nonce: self.nonce,
            seen: self.seen,
        }
    }

    /// What gives back what it has, or may have.
    #[must_use]
    pub fn give_back(&self) -> Request {
        match self.phase {
            Phase::Freeing {
                then: Then::Nothing,
                ..
            } => Request::ReleaseById,
            Phase::Freeing {
                held: Some(token), ..
            } => Request::Release {
                nonce: self.nonce,
                token,
            },
            _ => self.leave(),
        }
    }

    /// Its grant, while it believes that it owns.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match self.phase {
            Phase::Owning { token, .. } => Some(token),
            _ => None,
        }
    }

    /// Time passes.
    pub fn tick(&mut self) {
        if let Some(Heard {
            answer: Answer::Won { left, .. } | Answer::Extended { left },
            ..
        }) = &mut self.heard
        {
            *left = left.saturating_sub(1);
        }
        match self.phase {
            // What would have saved it comes too late.
            Phase::Owning { token, left: 1 } => self.own(token, 0),
            Phase::Owning { token, left } => {
                let left = left - 1;
                self.phase = Phase::Owning { token, left };
            }
            _ => {}
        }
    }

    /// Tells what is in use.
    pub fn uses(&self, by: Id, in_use: &mut InUse) {
        in_use.bid(by, self.nonce);
        match self.phase {
            Phase::Owning { token, .. } => in_use.token(token),
            Phase::Freeing { held, .. } => in_use.token(held.unwrap_or_default()),
            _ => {}
        }
        in_use.number(self.seen);
        if let Some(Answer::Won { token, .. }) = self.heard.map(|heard| heard.answer) {
            in_use.token(token);
        }
    }

    /// The same under other names.
    #[must_use]
    pub fn renamed(mut self, by: Id, names: &Names) -> Self {
        self.nonce = names.bid(by, self.nonce);
        match &mut self.phase {
            Phase::Owning { token, .. } => *token = names.token(*token),
            Phase::Freeing { held, .. } => *held = held.map(|held| names.token(held)),
            _ => {}
        }
        self.seen = names.numbers[usize::from(self.seen)];
        if let Some(heard) = &mut self.heard
            && let Answer::Won { token, .. } = &mut heard.answer
        {
            *token = names.token(*token);
        }
        self
    }

    /// Whether its bid is of this nonce.
    #[must_use]
    pub fn knows(&self, nonce: Nonce) -> bool {
        !matches!(self.phase, Phase::Out | Phase::Gone) && self.nonce == nonce
    }

    /// It is done. What it may do next is to begin, unless its id has ended.
    pub fn settle(&mut self) {
        let phase = match self.phase {
            Phase::Freeing {
                then: Then::Nothing,
                ..
            } => Phase::Gone,
            _ => Phase::Out,
        };
        *self = Self {
            phase,
            unique: self.unique,
            ..Self::default()
        };
    }
}

/// Gives up a place in the queue under a nonce that frees nothing.
pub const GIVE_UP_PLACE: Request = Request::Leave {
    nonce: NO_BID,
    seen: 0,
};
