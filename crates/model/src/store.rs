//! What a store is to the [world](crate::world).

use std::fmt::Debug;
use std::hash::Hash;

use crate::rule::Rule;
use crate::words::{Answer, CONTENDERS, Id, NO_BID, Nonce, PEER, Request, Token};

/// What a store may know while it carries out a request.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The length of a lease.
    pub lease: u8,
    /// For how long a place is kept for the next.
    pub reserve: u8,
    /// The rule in force.
    pub rule: Rule,
    /// Whether no other contender has the id of the one that asks.
    pub unique: bool,
    /// Whether who is refused waits in the store's queue.
    pub queues: bool,
    /// Who hears a word, as far as the store knows: those that wait.
    pub hears: [bool; CONTENDERS],
    /// The number that the store's clock stands for: not less than that of any grant
    /// before this moment.
    pub clock: u8,
    /// The order of the next grant, for the properties.
    pub order: u8,
}

impl Around {
    /// The token of a new grant of a store that has counted up to `fence`.
    #[must_use]
    pub fn next(&self, fence: u8) -> Token {
        let clock = match self.rule {
            Rule::TokensByTheFenceAlone => 0,
            _ => self.clock,
        };
        self.token(fence.max(clock) + 1)
    }

    /// The token of a new grant that is to have this number.
    #[must_use]
    pub fn token(&self, number: u8) -> Token {
        let order = self.order;
        Token { number, order }
    }
}

/// How numbers and contenders are renamed, so that worlds that differ in names only are
/// one. Only the order of numbers means anything, and no contender is special.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The new id of each contender.
    pub ids: [Id; CONTENDERS],
    /// The new number of each number, and order of each order.
    pub numbers: [u8; 32],
    /// See `numbers`.
    pub orders: [u8; 32],
    /// The new score of each place in the queue.
    pub scores: [u8; 32],
    /// The new nonce of each bid of each contender, by its old id.
    pub bids: [[Nonce; BIDS]; CONTENDERS],
}

/// More than there are bids of one contender in use, and the nonce of none.
const BIDS: usize = 16;

impl Names {
    /// Names that change nothing.
    #[must_use]
    pub fn same() -> Self {
        let all = std::array::from_fn(|index| u8::try_from(index).unwrap_or_default());
        Self {
            ids: [0, 1, 2],
            numbers: all,
            orders: all,
            scores: all,
            bids: [std::array::from_fn(|bid| all[bid]); CONTENDERS],
        }
    }

    /// The new nonce of a bid of the contender that was `by`.
    #[must_use]
    pub fn bid(&self, by: Id, nonce: Nonce) -> Nonce {
        self.bids[usize::from(by)][usize::from(nonce)]
    }

    /// The new token of `token`.
    #[must_use]
    pub fn token(&self, token: Token) -> Token {
        Token {
            number: self.numbers[usize::from(token.number)],
            order: self.orders[usize::from(token.order)],
        }
    }

    /// `all`, which has something for each contender, in the new order.
    #[must_use]
    pub fn each<T: Copy>(&self, all: [T; CONTENDERS]) -> [T; CONTENDERS] {
        let mut new = all;
        for (old, id) in self.ids.into_iter().enumerate() {
            new[usize::from(id)] = all[old];
        }
        new
    }

    /// The new id of `id`; the peer's stays.
    #[must_use]
    pub fn id(&self, id: Id) -> Id {
        self.ids.get(usize::from(id)).copied().unwrap_or(PEER)
    }
}

/// Told every number, order and score that is in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct InUse {
    numbers: u32,
    orders: u32,
    scores: u32,
    bids: [[Nonce; BIDS]; CONTENDERS],
}

impl InUse {
    /// This token is.
    pub fn token(&mut self, token: Token) {
        self.number(token.number);
        self.orders |= 1 << token.order;
    }

    /// This number is.
    pub fn number(&mut self, number: u8) {
        self.numbers |= 1 << number;
    }

    /// This place is.
    pub fn score(&mut self, score: u8) {
        self.scores |= 1 << score;
    }

    /// This bid is. Which of a contender's is told first has the first nonce.
    pub fn bid(&mut self, by: Id, nonce: Nonce) {
        let bids = &mut self.bids[usize::from(by)];
        if nonce != NO_BID && bids[usize::from(nonce)] == NO_BID {
            let last = bids.iter().max().copied().unwrap_or_default();
            bids[usize::from(nonce)] = last + 1;
        }
    }

    /// Names without gaps; contenders stay who they are.
    #[must_use]
    pub fn names(&self) -> Names {
        Names {
            numbers: dense(self.numbers),
            orders: dense(self.orders),
            scores: dense(self.scores),
            bids: self.bids,
            ..Names::same()
        }
    }
}

/// Zero stays zero: it is none.
fn dense(used: u32) -> [u8; 32] {
    let mut new = [0; 32];
    let mut last = 0;
    for (old, new) in new.iter_mut().enumerate().skip(1) {
        if used & (1 << old) != 0 {
            last += 1;
            *new = last;
        }
    }
    new
}

/// What is in a store about one mutex.
pub trait Store: Copy + Debug + Default + Ord + Hash + Send + Sync + 'static {
    /// Whether a bid has a nonce of its own in the store. If not, its id is all, and a
    /// contender that stands again has the same.
    const HAS_NONCES: bool;

    /// Carries out what `by` asks.
    fn run(&mut self, by: Id, request: Request, around: &Around) -> Answer;

    /// Time passes.
    fn tick(&mut self);

    /// Tells what is in use.
    fn uses(&self, in_use: &mut InUse);

    /// The same under other names.
    #[must_use]
    fn renamed(self, names: &Names) -> Self;

    /// What it has of one contender. All that it has of contenders is of single ones, so
    /// two of whom it has the same are the same to it.
    type Part: Ord;

    /// Its part of `by`.
    fn part(&self, by: Id) -> Self::Part;

    /// The last number that it knows of.
    fn fence(&self) -> u8;

    /// The grant of this bid, if anything is left of it.
    fn grant(&self, by: Id, nonce: Nonce) -> Option<Token>;

    /// A JVM peer takes what is free, or extends what is its own, for so long. Whether it could.
    fn peer_takes(&mut self, _peer: Id, _is_its: bool, _lease: u8) -> bool {
        false
    }

    /// It frees what its id has.
    fn peer_frees(&mut self, _peer: Id) {}

    /// Removes what is left of a mutex that no contender uses.
    fn prune(&mut self) {}

    /// Whether the contender owns, waits or is kept a place.
    fn has(&self, _by: Id) -> bool {
        false
    }

    /// No contender has this id any more, nor will have.
    fn forget(&mut self, _by: Id) {}

    /// Whether a place that is kept is told from a grant.
    fn keeps_well(&self) -> bool {
        true
    }

    /// For people.
    fn told(&self) -> String;
}
