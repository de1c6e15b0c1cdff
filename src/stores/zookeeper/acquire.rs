//! Taking the mutex, or a place before it.

use std::sync::Arc;

use futures_util::future::{OptionFuture, join3};
use zookeeper_client::{Client, CreateMode, Error as Fault};

use super::asked_watch::AskedWatch;
use super::client::Store;
use super::connection_number::ConnectionNumber;
use super::nodes::{Node, Standing};
use super::owner::{ATTEMPTS, restless, sorted, token};
use super::predecessor::{PredecessorWatch, Turn};
use super::proof::Asked;
use super::runs::Beside;
use super::session::Session;
use super::{clock, error, path};
use crate::backend::{Answer, Bid, Nonce};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};

/// The parent's counter is a signed 32-bit number; past its end it is
/// negative, and newcomers stand before all others.
const LAST_SEQUENCE: i64 = (1 << 31) - (1 << 20);

/// Whether no contender may stand at `sequence`. Others may have gone past the end.
fn is_used_up(sequence: i64) -> bool {
    !(0..LAST_SEQUENCE).contains(&sequence)
}

impl Store {
    pub(super) async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let answer = self.attempts(bid).await;
        answer.map_err(|error| match self.places.knows(bid.nonce) {
            // Whatever failed, its node may stand there: a contender that takes
            // the error for "nothing has happened" leaves it in the way of all.
            true => error.of_what_may_have_happened(),
            false => error,
        })
    }

    async fn attempts(&self, bid: &Bid) -> Result<Answer> {
        // Without a connection it has still asked: it has not gone without a word.
        let session = self
            .session()
            .inspect_err(|_| self.places.is_heard(bid.nonce, self.clock.now()))?;
        let dir = self.config.paths.mutex(&bid.name);
        for _ in 0..ATTEMPTS {
            if let Some(answer) = self.attempt(&session, &dir, bid).await? {
                return Ok(answer);
            }
        }
        Err(restless(Outcome::MayHave))
    }

    /// `None`: something went away in between, look again.
    async fn attempt(&self, session: &Session, dir: &str, bid: &Bid) -> Result<Option<Answer>> {
        let sent = self.clock.now();
        let (node, children) = match self.places.standing(bid.nonce, session.id(), sent) {
            Standing::At(node) => {
                if let Some(answer) = self.inherited(session, dir, bid, sent).await? {
                    return Ok(Some(answer));
                }
                (node, self.synced(session, dir).await?)
            }
            Standing::Over(node) => {
                let node = node.as_ref();
                self.remove(session, &bid.name, bid.nonce, node).await?;
                return Ok(None);
            }
            Standing::Unknown => {
                match self.find(session, dir, bid.nonce).await? {
                    Some(node) => drop(self.places.created(bid.nonce, session.id(), node)),
                    None => self.places.doubt(bid.nonce, session.id()),
                }
                return Ok(None);
            }
            Standing::New => {
                // One who would not wait writes nothing where there is an owner.
                if !bid.queue
                    && let Some(first) = self.synced(session, dir).await?.first()
                {
                    let owner = self.owner_at(session, &bid.name, dir, first).await?;
                    return Ok(owner.map(|owner| Answer::refused(owner, self.now())));
                }
                match self.create(session, dir, bid).await? {
                    Some(created) => created,
                    None => return Ok(None),
                }
            }
        };
        let Some(index) = children.iter().position(|child| *child == node.child) else {
            self.places.forget(bid.nonce, &node);
            return Ok(None);
        };
        if self.places.is_doubtful(bid.nonce)
            && let Some(late) = self
                .ours(session, dir, bid.nonce, &children[..index])
                .await?
        {
            // A creation that was not found after its answer was lost, and arrived
            // before the next: behind it the bid would wait for itself.
            self.delete(session, &format!("{dir}/{}", late.child))
                .await?;
            return Ok(None);
        }
        match index.checked_sub(1) {
            None => self.won(session, bid, sent).await,
            Some(_) if !bid.queue => {
                self.give_up(bid.nonce);
                self.remove(session, &bid.name, bid.nonce, Some(&node))
                    .await?;
                self.refusal(session, &bid.name).await.map(Some)
            }
            Some(before) => {
                let queued = self
                    .queue(session, dir, bid, &node, &children, before)
                    .await;
                queued.inspect_err(|error| {
                    // The node before it never goes: no place to wait at.
                    if error.kind() == ErrorKind::Conflict {
                        self.give_up(bid.nonce);
                    }
                })
            }
        }
    }

    /// The grant of a bid that is next as far as its watches say, if it is so by the word
    /// of the leader or of the quorum, too: what has happened to its own node before that
    /// was given is heard before the answer. Nothing is listed.
    async fn inherited(
        &self,
        session: &Session,
        dir: &str,
        bid: &Bid,
        sent: Moment,
    ) -> Result<Option<Answer>> {
        let is_heir = || self.places.is_heir(bid.nonce, session.id());
        if !is_heir() {
            return Ok(None);
        }
        let asked = session.to_ask_for_grant(sent);
        let confirmed = session.confirm(asked, dir, &self.clock).await;
        confirmed.map_err(error::read)?;
        match is_heir() {
            true => self.won(session, bid, sent).await,
            false => Ok(None),
        }
    }

    /// The bid's node leads, as was said to what was sent at `sent`.
    async fn won(&self, session: &Session, bid: &Bid, sent: Moment) -> Result<Option<Answer>> {
        let until = self.proven(session, sent).await?;
        let Some(owned) = self.places.grant(bid.nonce, session.id(), until) else {
            return Ok(None);
        };
        self.reaping.by(owned.until);
        Ok(Some(self.won_by(session, &owned)))
    }

    /// Creates the bid's node and lists all, or only those that count, in one round trip.
    /// `None`: the parent was not there.
    async fn create(
        &self,
        session: &Session,
        dir: &str,
        bid: &Bid,
    ) -> Result<Option<(Node, Vec<String>)>> {
        let prefix = path::node_prefix(bid.nonce);
        let start = format!("{dir}/{prefix}");
        let options = self.creation(CreateMode::EphemeralSequential);
        // Noted before it is sent: dropped from here on, it is looked for.
        let place = self.places.begin(bid, session.id(), self.clock.now());
        let sent = session.sending(&self.clock);
        let (client, connection) = (session.client(), session.connection());
        let creation = client.create(&start, bid.contender.as_str().as_bytes(), &options);
        let beside = self.runs.beside(&bid.name, connection);
        let listing = (beside != Beside::Nothing).then(|| client.list_children(dir));
        let watching =
            (beside == Beside::ListAndWatch).then(|| self.watch_parent(session, connection, dir));
        let (listing, watching) = (OptionFuture::from(listing), OptionFuture::from(watching));
        let (created, listed, watch) = join3(creation, listing, watching).await;
        let (stat, sequence) = match created {
            Ok(created) => {
                session.note(Asked::Quorum, sent, &self.clock);
                created
            }
            Err(Fault::NoNode) => {
                self.places.forget_place(bid.nonce, place);
                self.make_parents(client, dir, CreateMode::Container)
                    .await?;
                return Ok(None);
            }
            Err(error) => {
                let error = error::write(error);
                if !error.may_have_happened() {
                    self.places.forget_place(bid.nonce, place);
                }
                return Err(error);
            }
        };
        let created_at = clock::time(stat.ctime);
        self.wrote(created_at, sent);
        // Created, and of no use: the cleanup sees to it.
        let token = token(&stat).inspect_err(|_| self.give_up(bid.nonce))?;
        let node = Node {
            child: format!("{prefix}{sequence}"),
            token,
            created_at,
        };
        self.places.created(bid.nonce, session.id(), node.clone());
        if is_used_up(sequence.into_i64()) {
            self.give_up(bid.nonce);
            self.remove(session, &bid.name, bid.nonce, Some(&node))
                .await?;
            return Err(Error::conflict(format!(
                "the sequence numbers under {dir} are used up: delete that node when nobody \
                 contends, and they begin again"
            )));
        }
        let number = sequence.into_i64();
        let listed = match listed {
            Some(listed) => listed,
            None if self
                .runs
                .goes_on(&bid.name, session.connection(), (number, token)) =>
            {
                return Ok(Some((node.clone(), vec![node.child])));
            }
            None => client.list_children(dir).await,
        };
        // Not listed, and yet created.
        let children = sorted(listed, error::write)?;
        // A node that the server has not numbered may stand behind it, and before the next.
        if children.len() == 1 && children[0] == node.child {
            // A parent that was made anew is younger than the node.
            let watch = watch.flatten().filter(|(made, _)| *made < stat.czxid);
            let watch = watch.map(|(_, watch)| watch);
            self.runs
                .listed(&bid.name, connection, (number, token), watch);
        }
        Ok(Some((node, children)))
    }

    /// A watch on the parent, if there is room and it is there, and the transaction that
    /// made the parent. It is asked for before this returns.
    fn watch_parent(
        &self,
        session: &Session,
        connection: ConnectionNumber,
        dir: &str,
    ) -> impl Future<Output = Option<(i64, AskedWatch)>> {
        let room = self.watch_room.for_own(dir);
        let looking = room
            .is_some()
            .then(|| session.client().check_and_watch_stat(dir));
        async move {
            let (stat, watcher) = OptionFuture::from(looking).await?.ok()?;
            Some((stat?.czxid, AskedWatch::new(connection, watcher, room?)))
        }
    }

    /// The caller does not want what `nonce` has: whatever becomes of it, the
    /// cleanup deletes it.
    pub(super) fn give_up(&self, nonce: Nonce) {
        self.places.leave(nonce, self.clock.now());
        self.reaping.now();
    }

    /// Makes `dir` and what is above it. The server removes containers again
    /// when they are empty, but not the chroot, which others may use.
    pub(super) async fn make_parents(
        &self,
        client: &Client,
        dir: &str,
        mode: CreateMode,
    ) -> Result<()> {
        if let Some(chroot) = self.config.paths.chroot() {
            let options = self.creation(CreateMode::Persistent);
            client.mkdir(chroot, &options).await.map_err(error::write)?;
        }
        let made = client.mkdir(dir, &self.creation(mode)).await;
        made.map_err(error::write)
    }

    /// The node of `nonce` in this session, after its creation went unanswered.
    async fn find(&self, session: &Session, dir: &str, nonce: Nonce) -> Result<Option<Node>> {
        let children = self.synced(session, dir).await?;
        self.ours(session, dir, nonce, &children).await
    }

    /// The first of `children` that is a node of `nonce` in this session. A copy of this
    /// process may have one of the same name in its own.
    async fn ours(
        &self,
        session: &Session,
        dir: &str,
        nonce: Nonce,
        children: &[String],
    ) -> Result<Option<Node>> {
        let prefix = path::node_prefix(nonce);
        for child in children.iter().filter(|c| c.starts_with(&prefix)) {
            let path = format!("{dir}/{child}");
            let stat = session.client().check_stat(&path).await;
            let stat = stat.map_err(error::read)?;
            if let Some(stat) = stat.filter(|stat| stat.ephemeral_owner == session.id()) {
                return Ok(Some(Node {
                    child: child.clone(),
                    token: token(&stat)?,
                    created_at: clock::time(stat.ctime),
                }));
            }
        }
        Ok(None)
    }

    /// Waits behind `children[before]`: watches it and nothing else.
    async fn queue(
        &self,
        session: &Session,
        dir: &str,
        bid: &Bid,
        node: &Node,
        children: &[String],
        before: usize,
    ) -> Result<Option<Answer>> {
        let (previous, first) = (&children[before], &children[0]);
        let path = format!("{dir}/{previous}");
        let must_watch = !self.places.watches(bid.nonce, previous);
        if before == 0 && !must_watch {
            self.places.is_behind_the_first(bid.nonce);
        }
        let client = session.client();
        // Without room it learns of a change at its next look.
        let room = must_watch.then(|| self.watch_room.for_others(&path));
        let room = room.flatten();
        let watch = room.is_some().then(|| client.get_and_watch_data(&path));
        // Behind the owner it watches its own node, too: then the owner's end is its turn.
        let is_next = before == 0 && !self.places.is_quiet(bid.nonce);
        let own = is_next.then(|| self.look_at(session, &bid.name, bid.nonce, node));
        // What is known of the first, or read with the watch, is not read again.
        let must_read = room.is_none() || before > 0;
        let read = must_read.then(|| self.owner_at(session, &bid.name, dir, first));
        let (watch, read) = (OptionFuture::from(watch), OptionFuture::from(read));
        let (watched, read, own) = join3(watch, read, OptionFuture::from(own)).await;
        let mut owner = read.transpose()?.flatten();
        if own.transpose()? == Some(false) {
            return Ok(None);
        }
        match watched.zip(room) {
            None => {}
            Some((Ok((data, stat, watcher)), room)) => {
                let turn = Turn {
                    registry: Arc::clone(&self.registry),
                    name: bid.name.clone(),
                    waiter: bid.contender.clone(),
                };
                let leads = before == 0;
                let watch = PredecessorWatch::start(previous, leads, watcher, room, turn);
                self.places.watch(bid.nonce, watch);
                if before == 0 {
                    owner = self.known_owner(session, &bid.name, first);
                    if owner.is_none() {
                        owner = Some(self.remember(&bid.name, first, &data, &stat)?);
                    }
                }
            }
            Some((Err(Fault::NoNode), _)) => return Ok(None),
            Some((Err(error), _)) => return Err(error::write(error)),
        }
        let rank = u32::try_from(before).unwrap_or(u32::MAX);
        let own = children[before + 1].as_str();
        Ok(owner.map(|owner| Answer::refused(owner, self.now()).at_place(rank, own)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_the_end_and_beyond_it_are_refused() {
        for good in [0, 1, LAST_SEQUENCE - 1] {
            assert!(!is_used_up(good), "{good}");
        }
        for bad in [LAST_SEQUENCE, i64::from(i32::MAX), i64::from(i32::MIN), -1] {
            assert!(is_used_up(bad), "{bad}");
        }
    }
}
