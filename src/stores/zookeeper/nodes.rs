//! Which nodes are ours, and until when they count.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::asked_watch::AskedWatch;
use super::path;
use super::predecessor::PredecessorWatch;
use crate::backend::{Bid, Held, Nonce};
use crate::clock::Moment;
use crate::model::{ContenderId, FencingToken, MutexName, StoreTime};
use crate::sync::Mutex;

/// A latch node that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Its name under the mutex.
    pub(super) child: String,
    pub(super) token: FencingToken,
    pub(super) created_at: StoreTime,
}

/// Tells a place from a later one of the same bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceNumber(u64);

/// What a bid of ours has in the store.
#[derive(Debug)]
pub(super) struct BidPlace {
    number: PlaceNumber,
    pub(super) name: MutexName,
    pub(super) contender: ContenderId,
    /// The session that it lives in.
    pub(super) session: i64,
    /// `None`: its creation was sent, and no answer has come.
    pub(super) node: Option<Node>,
    /// When its contender last showed that it is there.
    heard_at: Moment,
    /// Until when it owns, once it does.
    pub(super) owns_until: Option<Moment>,
    /// Since when its contender does not want it.
    pub(super) left_at: Option<Moment>,
    watch: Option<PredecessorWatch>,
    /// On its own node, while it waits behind the owner, and once it owns and has
    /// been renewed, if there was room.
    own_watch: Option<AskedWatch>,
    /// When its own node was last looked at.
    looked_at: Option<Moment>,
}

/// What is known of a bid before it is asked for.
#[derive(Debug)]
pub(super) enum Standing {
    /// Nothing was ever sent for it in this session.
    New,
    /// A creation was sent whose outcome is not known.
    Unknown,
    At(Node),
    /// It was left, or its lease has run out: this must go first.
    Over(Option<Node>),
}

/// A grant that counts.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) contender: ContenderId,
    pub(super) node: Node,
    pub(super) until: Moment,
}

/// A place whose contender has not asked for long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Silent {
    pub(super) nonce: Nonce,
    pub(super) name: MutexName,
    pub(super) contender: ContenderId,
}

/// A place that is to be deleted.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) nonce: Nonce,
    pub(super) number: PlaceNumber,
    pub(super) name: MutexName,
    pub(super) session: i64,
    pub(super) node: Option<Node>,
}

/// How long a waiter that leaves a place may take to delete it itself.
const GRACE: Duration = Duration::from_secs(1);

/// How long a waiter may go without asking before it is looked whether it is
/// there at all. Far longer than between two looks.
const SILENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct BidPlaces {
    /// Each in a box: a table has room for twice as many as are in it, or more.
    places: Mutex<HashMap<Nonce, Box<BidPlace>>>,
    /// How many were begun.
    begun: AtomicU64,
    /// The last session whose places were forgotten: a call that still has it grants
    /// nothing.
    given_up: AtomicI64,
    /// The bids of which a creation went unanswered and nothing was found: it
    /// may still be on its way, in a connection that was given up.
    doubts: Mutex<HashMap<Nonce, i64>>,
}

impl BidPlaces {
    pub(super) fn standing(&self, nonce: Nonce, session: i64, now: Moment) -> Standing {
        let mut places = self.places.lock();
        let place = places.get_mut(&nonce);
        let Some(place) = place.filter(|place| place.session == session) else {
            return Standing::New;
        };
        place.heard_at = now;
        if place.is_over(now) {
            return Standing::Over(place.node.clone());
        }
        match &place.node {
            Some(node) => Standing::At(node.clone()),
            None => Standing::Unknown,
        }
    }

    /// Whether something of `nonce` is or may be in the store.
    pub(super) fn knows(&self, nonce: Nonce) -> bool {
        self.places.lock().contains_key(&nonce) || self.is_doubtful(nonce)
    }

    /// Notes that a node for `bid` is about to be created: from here on it may
    /// be there.
    pub(super) fn begin(&self, bid: &Bid, session: i64, now: Moment) -> PlaceNumber {
        let number = PlaceNumber(self.begun.fetch_add(1, Ordering::Relaxed));
        let place = BidPlace {
            number,
            name: bid.name.clone(),
            contender: bid.contender.clone(),
            session,
            node: None,
            heard_at: now,
            owns_until: None,
            left_at: None,
            watch: None,
            own_watch: None,
            looked_at: None,
        };
        self.places.lock().insert(bid.nonce, Box::new(place));
        number
    }

    /// The number of what `nonce` has.
    pub(super) fn number(&self, nonce: Nonce) -> Option<PlaceNumber> {
        self.places.lock().get(&nonce).map(|place| place.number)
    }

    /// The node of `nonce` is this. False when it was left in the meantime.
    pub(super) fn created(&self, nonce: Nonce, session: i64, node: Node) -> bool {
        let mut places = self.places.lock();
        match places.get_mut(&nonce).filter(|p| p.session == session) {
            Some(place) => {
                place.node = Some(node);
                place.left_at.is_none()
            }
            None => false,
        }
    }

    /// Nothing of `nonce` was found, and yet it may come: the cleanup
    /// must look for all there is.
    pub(super) fn doubt(&self, nonce: Nonce, session: i64) {
        self.doubts.lock().insert(nonce, session);
        self.places.lock().remove(&nonce);
    }

    /// Whether more than one node may be there for `nonce`.
    pub(super) fn is_doubtful(&self, nonce: Nonce) -> bool {
        self.doubts.lock().contains_key(&nonce)
    }

    /// The node of `nonce` leads: it owns until `until`, unless it did before.
    /// `None` when it was left in the meantime.
    pub(super) fn grant(&self, nonce: Nonce, session: i64, until: Moment) -> Option<Owned> {
        let mut places = self.places.lock();
        if self.given_up.load(Ordering::SeqCst) == session {
            return None;
        }
        let is_wanted = |p: &&mut Box<BidPlace>| p.session == session && p.left_at.is_none();
        let place = places.get_mut(&nonce).filter(is_wanted)?;
        place.watch = None;
        place.owns_until.get_or_insert(until);
        place.owned()
    }

    /// The grant `held`, if it counts at `now`.
    pub(super) fn owned(&self, held: &Held, session: i64, now: Moment) -> Option<Owned> {
        let places = self.places.lock();
        let place = places.get(&held.nonce).filter(|p| p.session == session)?;
        let owned = place.owned().filter(|_| !place.is_over(now))?;
        let is_it = place.name == held.name
            && place.contender == held.contender
            && owned.node.token.store() == held.token.store();
        is_it.then_some(owned)
    }

    /// Lengthens the grant of `nonce`, unless it is over.
    pub(super) fn extend(
        &self,
        nonce: Nonce,
        session: i64,
        until: Moment,
        now: Moment,
    ) -> Option<Owned> {
        let mut places = self.places.lock();
        let place = places.get_mut(&nonce).filter(|p| p.session == session)?;
        if place.is_over(now) {
            return None;
        }
        place.owns_until = place.owns_until.max(Some(until));
        place.owned()
    }

    /// The grant whose node is `child`, of this session.
    pub(super) fn at(&self, name: &MutexName, child: &str, session: i64) -> Option<Owned> {
        let nonce = path::nonce_of(child)?;
        let places = self.places.lock();
        let place = places.get(&nonce).filter(|p| p.session == session)?;
        let owned = place.owned().filter(|owned| owned.node.child == child)?;
        (place.name == *name).then_some(owned)
    }

    /// From `now` on its contender does not want the place of `nonce`.
    pub(super) fn leave(&self, nonce: Nonce, now: Moment) {
        if let Some(place) = self.places.lock().get_mut(&nonce) {
            place.left_at.get_or_insert(now);
            place.watch = None;
            place.own_watch = None;
        }
    }

    /// Which nodes of `held` a renewal looks at: those without a watch that is
    /// quiet, and `more` of the others, those first that were not looked at for
    /// longest.
    pub(super) fn to_look_at(&self, held: &[Held], more: usize) -> HashSet<Nonce> {
        let mut places = self.places.lock();
        let (mut chosen, mut quiet) = (HashSet::new(), Vec::new());
        for held in held {
            let Some(place) = places.get_mut(&held.nonce) else {
                continue;
            };
            if place.is_watched() {
                quiet.push((place.looked_at, held.nonce));
            } else {
                chosen.insert(held.nonce);
            }
        }
        if more < quiet.len() {
            quiet.select_nth_unstable_by_key(more, |(looked_at, _)| *looked_at);
        }
        chosen.extend(quiet.iter().take(more).map(|(_, nonce)| *nonce));
        chosen
    }

    /// The node of `nonce` was there at `now`, and is watched from then on by
    /// `watch`, or by the one it has.
    pub(super) fn looked_at(
        &self,
        nonce: Nonce,
        node: &Node,
        watch: Option<AskedWatch>,
        now: Moment,
    ) {
        let mut places = self.places.lock();
        let place = places.get_mut(&nonce);
        if let Some(place) = place.filter(|place| place.node.as_ref() == Some(node)) {
            if watch.is_some() {
                place.own_watch = watch;
            }
            place.looked_at = Some(now);
        }
    }

    /// Whether the node of `nonce` is watched and nothing has happened to it.
    pub(super) fn is_quiet(&self, nonce: Nonce) -> bool {
        let mut places = self.places.lock();
        places
            .get_mut(&nonce)
            .is_some_and(|place| place.is_watched())
    }

    /// The node of `nonce` is not in the store. Only if it is still that node: the
    /// bid may have asked again.
    pub(super) fn forget(&self, nonce: Nonce, node: &Node) {
        self.forget_if(nonce, |place| place.node.as_ref() == Some(node));
    }

    /// Nothing of this place of `nonce` is in the store.
    pub(super) fn forget_place(&self, nonce: Nonce, number: PlaceNumber) {
        self.forget_if(nonce, |place| place.number == number);
    }

    fn forget_if(&self, nonce: Nonce, is_it: impl FnOnce(&BidPlace) -> bool) {
        let mut places = self.places.lock();
        if places.get(&nonce).is_some_and(|place| is_it(place)) {
            places.remove(&nonce);
        }
    }

    /// All that `nonce` may have had in the store is deleted.
    pub(super) fn trust(&self, nonce: Nonce) {
        self.doubts.lock().remove(&nonce);
    }

    /// Nothing of `session` counts any more, and nothing is granted in it. Until when its
    /// grants may be believed, if it has any.
    pub(super) fn forget_session(&self, session: i64) -> Option<Moment> {
        self.given_up.store(session, Ordering::SeqCst);
        let mut believed = None;
        self.places.lock().retain(|_, place| {
            let is_kept = place.session != session;
            if !is_kept {
                believed = believed.max(place.owns_until);
            }
            is_kept
        });
        self.doubts.lock().retain(|_, doubted| *doubted != session);
        believed
    }

    pub(super) fn forget_all(&self) {
        self.places.lock().clear();
        self.doubts.lock().clear();
    }

    /// Whether the place of `nonce` watches `child`.
    pub(super) fn watches(&self, nonce: Nonce, child: &str) -> bool {
        let mut places = self.places.lock();
        let watch = places.get_mut(&nonce).and_then(|p| p.watch.as_mut());
        watch.is_some_and(|watch| watch.is_on(child))
    }

    /// Whether the node of `nonce` leads as far as its watches say: the one before
    /// it led and has gone, and nothing has happened to its own.
    pub(super) fn is_heir(&self, nonce: Nonce, session: i64) -> bool {
        let mut places = self.places.lock();
        let place = places.get_mut(&nonce);
        place.filter(|p| p.session == session).is_some_and(|place| {
            let is_next = place.watch.as_mut().is_some_and(PredecessorWatch::has_led);
            is_next && place.is_waiting() && place.is_watched()
        })
    }

    /// What `nonce` watches has become the first of all.
    pub(super) fn is_behind_the_first(&self, nonce: Nonce) {
        let mut places = self.places.lock();
        let watch = places.get_mut(&nonce).and_then(|p| p.watch.as_mut());
        watch.into_iter().for_each(PredecessorWatch::leads);
    }

    /// Keeps the watch of `nonce`, in place of the one it had.
    pub(super) fn watch(&self, nonce: Nonce, watch: PredecessorWatch) {
        if let Some(place) = self
            .places
            .lock()
            .get_mut(&nonce)
            .filter(|p| p.left_at.is_none())
        {
            place.watch = Some(watch);
        }
    }

    /// The waiters that have not asked for long.
    pub(super) fn silent(&self, now: Moment) -> Vec<Silent> {
        let places = self.places.lock();
        let silent = places
            .iter()
            .filter(|(_, place)| place.is_waiting() && place.silent_at() <= now);
        let silent = silent.map(|(nonce, place)| Silent {
            nonce: *nonce,
            name: place.name.clone(),
            contender: place.contender.clone(),
        });
        silent.collect()
    }

    /// The contender of `nonce` is there, though it has not asked.
    pub(super) fn is_heard(&self, nonce: Nonce, now: Moment) {
        if let Some(place) = self.places.lock().get_mut(&nonce) {
            place.heard_at = now;
        }
    }

    /// The contender of `nonce` is not there: from `now` on its place is left.
    /// False when it has asked in the meantime, or owns.
    pub(super) fn abandon(&self, nonce: Nonce, now: Moment) -> bool {
        let mut places = self.places.lock();
        let is_silent = |place: &&mut Box<BidPlace>| place.is_waiting() && place.silent_at() <= now;
        let place = places.get_mut(&nonce).filter(is_silent);
        place.is_some_and(|place| {
            place.left_at = Some(now);
            place.watch = None;
            true
        })
    }

    /// What has been over at `now` and was not taken away by its user.
    pub(super) fn over(&self, now: Moment) -> Vec<Over> {
        let places = self.places.lock();
        let over = places
            .iter()
            .filter(|(_, place)| place.reaped_at() <= Some(now));
        let over = over.filter(|(_, place)| place.reaped_at().is_some());
        over.map(|(nonce, place)| Over {
            nonce: *nonce,
            number: place.number,
            name: place.name.clone(),
            session: place.session,
            node: place.node.clone(),
        })
        .collect()
    }

    /// When there is next something to delete, or to look for.
    pub(super) fn next_over(&self) -> Option<Moment> {
        let places = self.places.lock();
        let due = |place: &BidPlace| place.reaped_at().unwrap_or_else(|| place.silent_at());
        places.values().map(|place| due(place)).min()
    }
}

impl BidPlace {
    /// Whether its own node is watched, and nothing has happened to it.
    fn is_watched(&mut self) -> bool {
        if self.own_watch.as_mut().is_some_and(AskedWatch::has_fired) {
            self.own_watch = None;
        }
        self.own_watch.is_some()
    }

    /// Whether it stands in the queue, as far as its contender is concerned.
    fn is_waiting(&self) -> bool {
        self.left_at.is_none() && self.owns_until.is_none()
    }

    /// From when on it is looked whether its contender is there.
    fn silent_at(&self) -> Moment {
        self.heard_at + SILENCE
    }

    fn is_over(&self, now: Moment) -> bool {
        self.left_at.is_some() || self.owns_until.is_some_and(|until| now >= until)
    }

    /// When it is taken away unless its user has done so.
    fn reaped_at(&self) -> Option<Moment> {
        let left = self.left_at.map(|at| at + GRACE);
        left.into_iter().chain(self.owns_until).min()
    }

    fn owned(&self) -> Option<Owned> {
        Some(Owned {
            contender: self.contender.clone(),
            node: self.node.clone()?,
            until: self.owns_until?,
        })
    }
}

#[cfg(test)]
mod tests;
