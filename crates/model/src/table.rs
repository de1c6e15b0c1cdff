//! A row as MySQL's shared table has it: an owner's id, a version, an end. There is no
//! room for a nonce, and no queue.
//!
//! An id is told from others by the `nonce` of the model: a lock has a new id for each
//! bid, a campaign stands again under the one it had.

use crate::rule::Rule;
use crate::store::{Around, InUse, Names, Store};
use crate::words::{Answer, Id, Nonce, Request, Token, name};

/// The row of a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The owner's id.
    owner: Option<(Id, Nonce)>,
    /// `transition_at`: when its lease ends.
    left: u8,
    /// `version`, the token of the last grant.
    version: Token,
}

impl Row {
    fn take(&mut self, by: (Id, Nonce), seen: u8, around: &Around) -> Answer {
        if let Some(owner) = self.owner {
            let seen = match around.rule {
                Rule::FoundThoughSeen => 0,
                _ => seen,
            };
            if owner == by && self.version.number > seen {
                return Answer::Won {
                    token: self.version,
                    left: self.left,
                    found: true,
                };
            }
            let (score, seen) = (0, self.version.number);
            return Answer::Refused { score, seen };
        }
        self.version = around.next(self.version.number);
        (self.owner, self.left) = (Some(by), around.lease);
        Answer::Won {
            token: self.version,
            left: around.lease,
            found: false,
        }
    }

    fn free(&mut self) {
        (self.owner, self.left) = (None, 0);
    }
}

impl Store for Row {
    const HAS_NONCES: bool = false;

    fn run(&mut self, by: Id, request: Request, around: &Around) -> Answer {
        let by = (by, request.nonce());
        let is_own = self.owner == Some(by);
        match request {
            Request::Take { seen, .. } => return self.take(by, seen, around),
            Request::Renew { token, .. } if is_own && self.version == token => {
                self.left = around.lease;
                return Answer::Extended { left: around.lease };
            }
            Request::Renew { .. } => return Answer::Gone,
            Request::Release { token, .. } if is_own && self.version == token => self.free(),
            Request::Leave { seen, .. } if is_own && self.version.number > seen => self.free(),
            // Only a grant, or a bid, is given back here.
            Request::Release { .. } | Request::Leave { .. } | Request::ReleaseById => {}
        }
        Answer::Done
    }

    fn tick(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.owner = None;
        }
    }

    fn uses(&self, in_use: &mut InUse) {
        in_use.token(self.version);
        if let Some((id, nonce)) = self.owner {
            in_use.bid(id, nonce);
        }
    }

    fn renamed(self, names: &Names) -> Self {
        Self {
            owner: self
                .owner
                .map(|(id, nonce)| (names.id(id), names.bid(id, nonce))),
            left: self.left,
            version: names.token(self.version),
        }
    }

    /// Under which id it owns.
    type Part = Option<Nonce>;

    fn part(&self, by: Id) -> Self::Part {
        let owner = self.owner.filter(|(id, _)| *id == by);
        owner.map(|(_, nonce)| nonce)
    }

    fn fence(&self) -> u8 {
        self.version.number
    }

    fn grant(&self, by: Id, nonce: Nonce) -> Option<Token> {
        let owner = self.owner.filter(|owner| *owner == (by, nonce));
        owner.map(|_| self.version)
    }

    fn told(&self) -> String {
        match self.owner {
            None => format!("free, version {}", self.version.number),
            Some((id, nonce)) => format!(
                "{}{nonce} by version {}, {} left",
                name(id),
                self.version.number,
                self.left
            ),
        }
    }
}
