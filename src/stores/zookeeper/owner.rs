//! Who owns, who waits.

use futures_util::future::join;
use zookeeper_client::{Error as Fault, Stat};

use super::client::Store;
use super::nodes::Owned;
use super::proof::Asked;
use super::session::Session;
use super::{clock, error, path};
use crate::backend::Answer;
use crate::error::{Error, ErrorKind, Outcome, Result, Retry};
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

/// How often a read whose node went away in between is made again.
pub(super) const ATTEMPTS: usize = 16;

/// How many owners are remembered before all are forgotten.
const REMEMBERED: usize = 1024;

impl Store {
    /// The nodes before the mutex at `dir`, in order, by the leader's word:
    /// without the `sync` a server that lags would show an old owner.
    pub(super) async fn synced(&self, session: &Session, dir: &str) -> Result<Vec<String>> {
        self.listed(session, dir, Asked::Leader).await
    }

    /// The same, by the word of the leader or of the quorum: a leader that no
    /// server follows any more answers a `sync`, and does not know what the others
    /// have done since.
    pub(super) async fn listed(
        &self,
        session: &Session,
        dir: &str,
        asked: Asked,
    ) -> Result<Vec<String>> {
        let confirmation = session.confirm(asked, dir, &self.clock);
        let (confirmed, listed) = join(confirmation, session.client().list_children(dir)).await;
        confirmed.map_err(error::read)?;
        sorted(listed, error::read)
    }

    /// The owner whose node is `child`; `None` when it has gone.
    pub(super) async fn owner_at(
        &self,
        session: &Session,
        name: &MutexName,
        dir: &str,
        child: &str,
    ) -> Result<Option<MutexOwner>> {
        if let Some(owner) = self.known_owner(session, name, child) {
            return Ok(Some(owner));
        }
        let path = format!("{dir}/{child}");
        match session.client().get_data(&path).await {
            Ok((data, stat)) => self.remember(name, child, &data, &stat).map(Some),
            Err(Fault::NoNode) => Ok(None),
            Err(error) => Err(error::read(error)),
        }
    }

    /// The owner whose node is `child`, without asking: a grant of our own, or
    /// one that was read before. What a latch node says never changes.
    pub(super) fn known_owner(
        &self,
        session: &Session,
        name: &MutexName,
        child: &str,
    ) -> Option<MutexOwner> {
        if let Some(owned) = self.places.at(name, child, session.id()) {
            return Some(self.owner_of(session, &owned));
        }
        let seen = self.seen();
        let seen = seen.get(name).filter(|(known, _)| known == child);
        seen.map(|(_, owner)| owner.clone())
    }

    /// A grant of our own, with its times.
    pub(super) fn owner_of(&self, session: &Session, owned: &Owned) -> MutexOwner {
        self.owner_and_now(session, owned).0
    }

    /// The answer of a grant of our own. What is left of it is an end less now, both as
    /// one reading of the store's clock has them: it may be put back in between.
    pub(super) fn won_by(&self, session: &Session, owned: &Owned) -> Answer {
        let (owner, now) = self.owner_and_now(session, owned);
        Answer::won(owner, now)
    }

    fn owner_and_now(&self, session: &Session, owned: &Owned) -> (MutexOwner, StoreTime) {
        let (node, id) = (&owned.node, owned.contender.clone());
        let ttl = owned.until - session.terms().transition();
        let moments = [ttl, owned.until, self.clock.now()];
        let [ttl_at, transition_at, now] = self.time.at_each(moments);
        let owner = MutexOwner::new(id, node.created_at, ttl_at, transition_at);
        (owner.with_token(node.token), now)
    }

    /// Remembers what the node `child` says.
    pub(super) fn remember(
        &self,
        name: &MutexName,
        child: &str,
        data: &[u8],
        stat: &Stat,
    ) -> Result<MutexOwner> {
        let created_at = clock::time(stat.ctime);
        self.saw(created_at);
        if let Some(fault) = fault_of(child, data, stat) {
            return Err(
                Error::conflict(format!("this mutex is damaged: {fault}; revoke it"))
                    .with_mutex(name),
            );
        }
        let owner = MutexOwner::foreign(id(data, child)?)
            .acquired_since(created_at)
            .with_token(token(stat)?);
        let mut seen = self.seen();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(name.clone(), (child.to_owned(), owner.clone()));
        Ok(owner)
    }

    /// Who owns `name`, and by which node.
    pub(super) async fn leader(
        &self,
        session: &Session,
        name: &MutexName,
    ) -> Result<Option<(String, MutexOwner)>> {
        let dir = self.config.paths.mutex(name);
        for _ in 0..ATTEMPTS {
            let children = self.synced(session, &dir).await?;
            let Some(first) = children.into_iter().next() else {
                return Ok(None);
            };
            if let Some(owner) = self.owner_at(session, name, &dir, &first).await? {
                return Ok(Some((first, owner)));
            }
        }
        Err(restless(Outcome::DidNot))
    }

    /// "No", with the owner now.
    pub(super) async fn refusal(&self, session: &Session, name: &MutexName) -> Result<Answer> {
        let leader = self.leader(session, name).await?;
        let owner = leader.map_or(MutexOwner::NONE, |(_, owner)| owner);
        Ok(Answer::refused(owner, self.now()))
    }
}

/// A listing in order; a parent that is not there has no children.
pub(super) fn sorted(
    listed: Result<Vec<String>, Fault>,
    failed: fn(Fault) -> Error,
) -> Result<Vec<String>> {
    match listed {
        Ok(mut children) => {
            path::sort(&mut children);
            Ok(children)
        }
        Err(Fault::NoNode) => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// The contender of a node. Curator's is empty unless its user sets one: then
/// the node's own name tells it from others.
pub(super) fn id(data: &[u8], child: &str) -> Result<ContenderId> {
    let id = std::str::from_utf8(data).ok();
    id.and_then(|id| ContenderId::new(id).ok())
        .map_or_else(|| ContenderId::new(child), Ok)
}

/// What is wrong with a node among the contenders: one that waits behind it
/// could wait for ever.
pub(super) fn fault_of(child: &str, data: &[u8], stat: &Stat) -> Option<String> {
    if stat.ephemeral_owner == 0 {
        return Some(format!(
            "the node {child:?} stands among its contenders and belongs to no session: it never \
             goes by itself"
        ));
    }
    if id(data, child).is_err() {
        return Some(format!(
            "neither the data nor the name of the node {child:?} is an id"
        ));
    }
    let token = token(stat).err();
    token.map(|error| format!("the node {child:?} has no token: {error}"))
}

/// The token of the grant that this node is.
pub(super) fn token(stat: &Stat) -> Result<FencingToken> {
    FencingToken::from_store(u64::try_from(stat.czxid).unwrap_or(u64::MAX))
}

/// The nodes changed faster than they could be read.
pub(super) fn restless(outcome: Outcome) -> Error {
    Error::new(ErrorKind::Store, outcome)
        .with_message("the nodes of the mutex changed faster than they could be read")
        .with_retry(Retry::AtOnce)
}
