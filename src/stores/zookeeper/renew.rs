//! Renewing and giving back.

use futures_util::TryFutureExt as _;
use futures_util::future::{Either, OptionFuture, join, join_all};
use zookeeper_client::Error as Fault;

use super::asked_watch::AskedWatch;
use super::client::Store;
use super::nodes::{Node, PlaceNumber, Standing};
use super::proof::Asked;
use super::session::Session;
use super::{error, path};
use crate::backend::{Answer, Bid, Held, Nonce};
use crate::error::Result;
use crate::model::{MutexName, MutexOwner};

/// How many nodes a renewal looks at that have a quiet watch. So the few that
/// most processes own rest on no watch, and of many each is looked at now and
/// then.
const LOOKS: usize = 2;

impl Store {
    /// One word of the leader or the quorum for all. Of each node its watch, or
    /// a look, says whether it is there: the server answers in order, so either
    /// is as new.
    pub(super) async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        if held.is_empty() {
            return Vec::new();
        }
        let session = match self.session() {
            Ok(session) => session,
            Err(error) => return held.iter().map(|_| Err(error.clone())).collect(),
        };
        let sent = self.clock.now();
        let owned: Vec<_> = held
            .iter()
            .map(|held| self.places.owned(held, session.id(), sent))
            .collect();
        let path = self.config.paths.latches();
        let asking = session.confirm(session.to_ask(sent), path, &self.clock);
        let chosen = self.places.to_look_at(held, LOOKS);
        let looks = held.iter().zip(&owned).map(|(held, owned)| {
            let owned = owned.as_ref().filter(|_| chosen.contains(&held.nonce))?;
            Some(self.look_at(&session, &held.name, held.nonce, &owned.node))
        });
        let looks: Vec<_> = looks.map(OptionFuture::from).collect();
        let (confirmed, looked) = join(asking, join_all(looks)).await;
        let proven = match confirmed {
            Ok(()) => self.proven(&session, sent).await,
            Err(error) => Err(error::write(error)),
        };
        let until = match proven {
            Ok(until) => until,
            Err(error) => return held.iter().map(|_| Err(error.clone())).collect(),
        };
        let now = self.clock.now();
        let answers = held.iter().zip(owned).zip(looked);
        join_all(answers.map(async |((held, owned), looked)| {
            if let Some(owned) = owned {
                let is_there = match looked {
                    Some(looked) => looked?,
                    None if self.places.is_quiet(held.nonce) => true,
                    // Something has just happened to it.
                    None => {
                        let node = &owned.node;
                        self.look_at(&session, &held.name, held.nonce, node).await?
                    }
                };
                if !is_there {
                    // Another has deleted it.
                    self.places.forget(held.nonce, &owned.node);
                } else if let Some(owned) = self.places.extend(held.nonce, session.id(), until, now)
                {
                    return Ok(self.won_by(&session, &owned));
                }
            }
            self.refusal(&session, &held.name).await
        }))
        .await
    }

    /// Whether the node of the bid `nonce` is there; if so, it is watched from now on,
    /// if there is room. The question is sent before this returns.
    pub(super) fn look_at(
        &self,
        session: &Session,
        name: &MutexName,
        nonce: Nonce,
        node: &Node,
    ) -> impl Future<Output = Result<bool>> {
        let dir = self.config.paths.mutex(name);
        let path = format!("{dir}/{}", node.child);
        let connection = session.connection();
        let looking = match self.watch_room.for_own(&path) {
            Some(room) => {
                let looking = session.client().check_and_watch_stat(&path);
                Either::Left(looking.map_ok(move |(stat, watcher)| {
                    let watch = AskedWatch::new(connection, watcher, room);
                    (stat.is_some(), Some(watch))
                }))
            }
            None => {
                let looking = session.client().check_stat(&path);
                Either::Right(looking.map_ok(|stat| (stat.is_some(), None)))
            }
        };
        async move {
            let (is_there, watch) = looking.await.map_err(error::write)?;
            if is_there {
                self.places.looked_at(nonce, node, watch, self.clock.now());
            }
            Ok(is_there)
        }
    }

    pub(super) async fn release(&self, held: &Held) -> Result<Answer> {
        let session = self.session()?;
        let now = self.clock.now();
        let node = match self.places.owned(held, session.id(), now) {
            Some(owned) => Some(owned.node),
            // Of another session, perhaps one of ours that has been replaced.
            None => self.foreign_node(&session, held).await?,
        };
        if let Some(node) = node
            && self
                .remove(&session, &held.name, held.nonce, Some(&node))
                .await?
        {
            return Ok(Answer::won(MutexOwner::NONE, self.now()));
        }
        self.refusal(&session, &held.name).await
    }

    /// The node of the grant `held`, if it is one of another session.
    async fn foreign_node(&self, session: &Session, held: &Held) -> Result<Option<Node>> {
        let prefix = path::node_prefix(held.nonce);
        let dir = self.config.paths.mutex(&held.name);
        let children = self.synced(session, &dir).await?;
        let Some(child) = children.into_iter().find(|c| c.starts_with(&prefix)) else {
            return Ok(None);
        };
        let path = format!("{dir}/{child}");
        let (data, stat) = match session.client().get_data(&path).await {
            Ok(read) => read,
            Err(Fault::NoNode) => return Ok(None),
            Err(error) => return Err(error::read(error)),
        };
        let token = super::owner::token(&stat)?;
        let is_it = data == held.contender.as_str().as_bytes()
            && token.store() == held.token.store()
            && stat.ephemeral_owner != session.id();
        Ok(is_it.then(|| Node {
            child,
            token,
            created_at: super::clock::time(stat.ctime),
        }))
    }

    pub(super) async fn leave(&self, bid: &Bid) -> Result<()> {
        self.give_up(bid.nonce);
        let now = self.clock.now();
        let session = self.session()?;
        let node = match self.places.standing(bid.nonce, session.id(), now) {
            Standing::Over(node) => node,
            _ => None,
        };
        self.remove(&session, &bid.name, bid.nonce, node.as_ref())
            .await?;
        Ok(())
    }

    /// Deletes what the bid `nonce` has under `name`: `node`, or whatever is
    /// found of it where that is not known or may not be all. True when this
    /// call deleted something.
    pub(super) async fn remove(
        &self,
        session: &Session,
        name: &MutexName,
        nonce: Nonce,
        node: Option<&Node>,
    ) -> Result<bool> {
        let place = self.places.number(nonce);
        self.remove_of(place, session, name, nonce, node).await
    }

    /// The same of one place of the bid only: a bidder that was taken for gone may have a
    /// later place, and own there.
    pub(super) async fn remove_of(
        &self,
        place: Option<PlaceNumber>,
        session: &Session,
        name: &MutexName,
        nonce: Nonce,
        node: Option<&Node>,
    ) -> Result<bool> {
        let dir = self.config.paths.mutex(name);
        let children = match node {
            Some(node) if !self.places.is_doubtful(nonce) => vec![node.child.clone()],
            _ => {
                let prefix = path::node_prefix(nonce);
                // What is not found now is not looked for again.
                let mut children = self.listed(session, &dir, Asked::Quorum).await?;
                // A place is begun before its node is asked for: what was listed is of
                // this one, or of none that came after it.
                let now = self.places.number(nonce);
                if now.is_some() && now != place {
                    return Ok(false);
                }
                children.retain(|child| child.starts_with(&prefix));
                children
            }
        };
        let mut deleted = false;
        for child in children {
            if self.delete(session, &format!("{dir}/{child}")).await? {
                deleted = true;
                if let Some(node) = node.filter(|node| node.child == child) {
                    self.runs.freed(name, node.token);
                }
            }
        }
        match (node, place) {
            (Some(node), _) => self.places.forget(nonce, node),
            (None, Some(place)) => self.places.forget_place(nonce, place),
            (None, None) => {}
        }
        self.places.trust(nonce);
        Ok(deleted)
    }

    /// False when there was nothing to delete.
    pub(super) async fn delete(&self, session: &Session, path: &str) -> Result<bool> {
        let sent = session.sending(&self.clock);
        match session.client().delete(path, None).await {
            Ok(()) => {
                session.note(Asked::Quorum, sent, &self.clock);
                Ok(true)
            }
            Err(Fault::NoNode) => Ok(false),
            Err(error) => Err(error::write(error)),
        }
    }
}
