//! [`Bid`]: a wish to own. [`Held`]: a grant that was won.

use std::fmt;

use crate::model::{ContenderId, FencingToken, LeaseTerms, MutexName, Purpose, chance};

/// Names one bid for ever: 128 bits, random except for those that say what it is
/// [wanted for](Self::wanted_for).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(u128);

impl Nonce {
    /// Set in every one that is made and does not say what it is wanted for: read
    /// as a UUID it is never of version 4, and so never one that Curator could
    /// have made, nor of version 0, which says it.
    const MARK: u128 = 1 << 79;

    /// A new one that no other bid has.
    #[must_use]
    pub fn random() -> Self {
        Self::drawn(chance::bits())
    }

    /// One of 128 bits of chance that nothing else is made of.
    pub(crate) const fn drawn(bits: u128) -> Self {
        Self(bits | Self::MARK)
    }

    /// The nonce with these bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The same, except for eight bits that say what the bid is for; the other
    /// 120 stay.
    ///
    /// ```
    /// use tenure::backend::Nonce;
    /// use tenure::model::Purpose;
    ///
    /// let nonce = Nonce::random();
    /// assert_eq!(nonce.purpose(), None);
    /// assert_eq!(nonce.wanted_for(Purpose::Leader).purpose(), Some(Purpose::Leader));
    /// ```
    #[must_use]
    pub const fn wanted_for(self, purpose: Purpose) -> Self {
        Self(purpose.marked_on(self.0))
    }

    /// What its bid is for, if it says that.
    #[must_use]
    pub fn purpose(self) -> Option<Purpose> {
        Purpose::read_from(self.0)
    }

    /// The nonce that is written so; none of other texts.
    #[allow(dead_code, reason = "not every store writes it as text")]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_one = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_one);
        bits.map(Self)
    }

    /// How it is written.
    pub(crate) fn digits(self) -> [u8; 32] {
        let mut rest = self.0;
        let mut digits = [0; 32];
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdef"[(rest & 0xf) as usize];
            rest >>= 4;
        }
        digits
    }

    /// Its bits.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl fmt::Display for Nonce {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One contention of one contender for one mutex.
///
/// ```
/// use tenure::backend::Bid;
/// use tenure::model::{ContenderId, LeaseTerms, MutexName};
///
/// let bid = Bid::new(MutexName::new("m")?, ContenderId::new("a")?, LeaseTerms::default());
/// assert!(bid.queue, "a bid waits in the store's queue unless told not to");
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bid {
    /// What is wanted.
    pub name: MutexName,
    /// Who wants it.
    pub contender: ContenderId,
    /// For how long at a time.
    pub terms: LeaseTerms,
    /// What tells this bid from every other, also of the same contender.
    pub nonce: Nonce,
    /// Whether no other bid carries this contender id, as its
    /// [generator](crate::model::ContenderIdGenerator::unique_per_call) says.
    pub unique_id: bool,
    /// Whether a refused bid takes a place in the store's queue.
    pub queue: bool,
    /// The score of the place it had, kept when it must queue again.
    pub score: Option<Box<str>>,
    /// The largest token of this mutex that the bidder has seen.
    pub seen: Option<FencingToken>,
    /// Whether others, who are not ours, count up the same fence: it must not
    /// end then, where the store would let it.
    pub shares_fence: bool,
}

impl Bid {
    /// A bid that queues, with a new nonce and an id that others may share.
    #[must_use]
    pub fn new(name: MutexName, contender: ContenderId, terms: LeaseTerms) -> Self {
        Self::under(Nonce::random(), name, contender, terms)
    }

    /// The same under this nonce.
    pub(crate) fn under(
        nonce: Nonce,
        name: MutexName,
        contender: ContenderId,
        terms: LeaseTerms,
    ) -> Self {
        Self {
            name,
            contender,
            terms,
            nonce,
            unique_id: false,
            queue: true,
            score: None,
            seen: None,
            shares_fence: false,
        }
    }

    /// The same bid under this nonce.
    #[must_use]
    pub fn with_nonce(self, nonce: Nonce) -> Self {
        Self { nonce, ..self }
    }

    /// The same bid, whose nonce says what it is for.
    #[must_use]
    pub fn wanted_for(self, purpose: Purpose) -> Self {
        let nonce = self.nonce.wanted_for(purpose);
        self.with_nonce(nonce)
    }

    /// The same bid, whose contender id no other bid carries.
    #[must_use]
    pub fn with_unique_id(self) -> Self {
        Self {
            unique_id: true,
            ..self
        }
    }

    /// The same bid, which takes no place in the store's queue when refused.
    #[must_use]
    pub fn without_queue(self) -> Self {
        Self {
            queue: false,
            ..self
        }
    }

    /// What this bid holds once it has won under `token`.
    #[must_use]
    pub fn held(&self, token: FencingToken) -> Held {
        Held {
            name: self.name.clone(),
            contender: self.contender.clone(),
            terms: self.terms,
            nonce: self.nonce,
            token,
            unique_id: self.unique_id,
            is_last: false,
        }
    }
}

/// A grant: what a won bid holds in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// What is owned.
    pub name: MutexName,
    /// By whom.
    pub contender: ContenderId,
    /// For how long at a time.
    pub terms: LeaseTerms,
    /// The nonce of the bid that won.
    pub nonce: Nonce,
    /// The first token of the grant, as the store's number gives it.
    pub token: FencingToken,
    /// Whether the bid that won had an [id of its own](Bid::unique_id).
    pub unique_id: bool,
    /// Of a release: whether no bid follows under this id. If no other contender has
    /// it, what the id owns is this grant.
    pub is_last: bool,
}
