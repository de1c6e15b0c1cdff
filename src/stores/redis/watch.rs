//! Who listens to which channel, over one connection per server.
//!
//! Not the listeners of [`stores::kit`](crate::stores::kit), which are by mutex
//! and are forgotten now and then. Here a listener has several channels, in a
//! cluster at several servers; each has a subscription of its own that stands
//! or does not, which takes wait for, and that is given up with its last
//! listener.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;

use super::messages::OwnerEvent;
use crate::backend::Hint;
use crate::clock::{Clock, Moment};
use crate::stores::kit::{HintSender, HintStream, hints};
use crate::sync::Mutex;

/// How long an attempt waits for its own subscription at most.
const READY_LIMIT: Duration = Duration::from_secs(1);

/// What a channel says to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// That it is its turn.
    Turn,
    /// That the owner has changed.
    Changed,
    /// The same, in words of our own that are not an [`OwnerEvent`].
    Freed,
    /// That a reentrant lock is free: every waiter may try.
    Unlocked,
}

/// What marks a sharded channel among the others here: no name can have it.
const SHARDED: char = '\u{1}';

/// The sharded channel called `name`, as it is known here. In a cluster its
/// messages stay at the node that has its slot.
pub(super) fn sharded(name: &str) -> String {
    format!("{SHARDED}{name}")
}

/// The name on the wire, and whether it is of a sharded channel.
pub(super) fn wire_name(name: &str) -> (&str, bool) {
    match name.strip_prefix(SHARDED) {
        Some(name) => (name, true),
        None => (name, false),
    }
}

/// Every channel of a client that has a listener.
#[derive(Default)]
pub(super) struct Registry {
    channels: Mutex<HashMap<String, Channel>>,
    next_number: AtomicU64,
    /// Channels that were added or emptied since the subscriber last looked.
    dirty: Mutex<HashSet<String>>,
    pub(super) changed: Notify,
    /// Counts confirmations and interruptions.
    settled: watch::Sender<u64>,
    /// Under the lock of `channels`: a stream must not be opened after it.
    closed: AtomicBool,
}

struct Channel {
    /// Of the listener that opened it. A channel that was left and is opened
    /// again is another: what is still under way for the first one is no word
    /// about the second.
    number: u64,
    says: Says,
    listeners: Vec<(u64, HintSender)>,
    standing: Standing,
    /// Tells the listeners when a lease is over, which the server does not.
    alarm: Option<Alarm>,
}

/// Rings at the end of a lease, and goes with its channel.
struct Alarm {
    at: Moment,
    work: AbortOnDropHandle<()>,
}

/// How far a subscription has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Asked for, or to be asked for.
    Pending,
    /// The server sends its messages.
    Confirmed,
    /// Cannot be had now; no caller waits for it.
    Refused,
}

impl Registry {
    /// Listens to `channels` from now on.
    pub(super) fn listen(self: &Arc<Self>, channels: Vec<(String, Says)>) -> Listening {
        let (sender, hints) = hints();
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let mut names = Vec::with_capacity(channels.len());
        let mut all = self.channels.lock();
        let open = !self.closed.load(Ordering::Relaxed);
        for (name, says) in channels.into_iter().filter(|_| open) {
            let channel = all.entry(name.clone()).or_insert_with(|| Channel {
                number,
                says,
                listeners: Vec::new(),
                standing: Standing::Pending,
                alarm: None,
            });
            channel.listeners.push((number, sender.clone()));
            names.push(name);
        }
        drop(all);
        self.mark(&names);
        Listening {
            hints,
            number,
            names,
            registry: Arc::clone(self),
        }
    }

    fn forget(&self, number: u64, names: &[String]) {
        let mut all = self.channels.lock();
        for name in names {
            if let Some(channel) = all.get_mut(name) {
                channel.listeners.retain(|(other, _)| *other != number);
                if channel.listeners.is_empty() {
                    all.remove(name);
                }
            }
        }
        drop(all);
        self.mark(names);
    }

    fn mark(&self, names: &[String]) {
        self.dirty.lock().extend(names.iter().cloned());
        self.changed.notify_one();
    }

    /// Whether no channel has a listener.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.lock().is_empty()
    }

    /// Returns when `channel` is subscribed, if it has a listener and it
    /// can be had soon: an attempt after it finds what was missed before.
    pub(super) async fn ready(&self, channel: &str) {
        let pending = || {
            let all = self.channels.lock();
            all.get(channel)
                .is_some_and(|channel| channel.standing == Standing::Pending)
        };
        if !pending() {
            return;
        }
        let mut settled = self.settled.subscribe();
        let wait = async {
            while pending() {
                if settled.changed().await.is_err() {
                    return;
                }
            }
        };
        let waited = tokio::time::timeout(READY_LIMIT, wait);
        if Box::pin(waited).await.is_err() {
            self.go_on_without(channel);
        }
    }

    /// An attempt goes on without waiting for `channel`: when its subscription
    /// comes, every listener must look once more.
    pub(super) fn go_on_without(&self, channel: &str) {
        let pending = self
            .channels
            .lock()
            .get(channel)
            .is_some_and(|channel| channel.standing == Standing::Pending);
        if pending {
            self.refuse(&[channel.to_owned()]);
        }
    }

    /// The channels to look at again.
    pub(super) fn take_dirty(&self) -> HashSet<String> {
        std::mem::take(&mut *self.dirty.lock())
    }

    /// All channels that are wanted.
    pub(super) fn wanted(&self) -> Vec<String> {
        self.channels.lock().keys().cloned().collect()
    }

    /// The number of `channel`, if it is wanted.
    pub(super) fn wants(&self, channel: &str) -> Option<u64> {
        self.channels
            .lock()
            .get(channel)
            .map(|channel| channel.number)
    }

    /// These are subscribed now. A listener that was cut off before, or went on
    /// without them, hears so.
    pub(super) fn confirm(&self, names: &[(String, u64)], resumed: bool) {
        let mut all = self.channels.lock();
        for (name, number) in names {
            let Some(channel) = all.get_mut(name).filter(|it| it.number == *number) else {
                continue;
            };
            if resumed || channel.standing == Standing::Refused {
                channel.tell(Hint::Resumed);
            }
            channel.standing = Standing::Confirmed;
        }
        drop(all);
        self.settled.send_modify(|count| *count += 1);
    }

    /// `channel` is to be subscribed elsewhere. Between two servers something
    /// may be missed: it shall look once more when it is heard again.
    pub(super) fn displace(&self, channel: &str) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        if let Some(channel) = self.channels.lock().get_mut(channel) {
            channel.number = number;
            channel.standing = Standing::Refused;
        }
        self.settled.send_modify(|count| *count += 1);
    }

    /// These cannot be had.
    pub(super) fn refuse(&self, names: &[String]) {
        self.stand(names, Standing::Refused);
    }

    /// These are to be had again.
    pub(super) fn suspend(&self, names: &[String]) {
        self.stand(names, Standing::Pending);
    }

    fn stand(&self, names: &[String], standing: Standing) {
        let mut all = self.channels.lock();
        for name in names {
            if let Some(channel) = all.get_mut(name) {
                channel.standing = standing;
            }
        }
        drop(all);
        self.settled.send_modify(|count| *count += 1);
    }

    /// Passes a message on to those who listen.
    pub(super) fn hear(&self, push: &PushInfo) {
        let is_sharded = match push.kind {
            PushKind::Message => false,
            PushKind::SMessage => true,
            _ => return,
        };
        let [Value::BulkString(name), Value::BulkString(payload)] = push.data.as_slice() else {
            tracing::warn!("a message from Redis has no channel and payload; ignored");
            return;
        };
        let Ok(name) = std::str::from_utf8(name) else {
            return;
        };
        let marked = is_sharded.then(|| sharded(name));
        let all = self.channels.lock();
        let Some(channel) = all.get(marked.as_deref().unwrap_or(name)) else {
            return;
        };
        let is_event = matches!(channel.says, Says::Turn | Says::Changed);
        if is_event && OwnerEvent::parse(payload).is_none() {
            tracing::warn!(channel = name, "a message is no owner event; ignored");
            return;
        }
        channel.tell(match channel.says {
            Says::Turn | Says::Unlocked => Hint::Turn,
            Says::Changed | Says::Freed => Hint::Changed,
        });
    }

    /// The lease that the listeners of `channel` wait for is over `at` that
    /// moment, unless it is extended: then it is their turn, if its owner has
    /// died and says nothing.
    pub(super) fn ring(self: &Arc<Self>, channel: &str, at: Moment, clock: &Clock) {
        let mut all = self.channels.lock();
        let Some(found) = all.get_mut(channel) else {
            return;
        };
        match &mut found.alarm {
            // It looks at the time again when it wakes.
            Some(alarm) if alarm.at <= at && !alarm.work.is_finished() => alarm.at = at,
            alarm => {
                let registry = Arc::downgrade(self);
                let work = ring_at_end(registry, channel.to_owned(), at, clock.clone());
                let work = AbortOnDropHandle::new(tokio::spawn(work));
                *alarm = Some(Alarm { at, work });
            }
        }
    }

    /// Tells the listeners of `channel` if their lease is over at `now`, else
    /// when it will be.
    fn tell_if_over(&self, channel: &str, now: Moment) -> Option<Moment> {
        let all = self.channels.lock();
        let channel = all.get(channel)?;
        let at = channel.alarm.as_ref()?.at;
        if at > now {
            return Some(at);
        }
        channel.tell(Hint::Turn);
        None
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        let mut all = self.channels.lock();
        self.closed.store(true, Ordering::Relaxed);
        all.clear();
        drop(all);
        self.changed.notify_one();
    }
}

impl Channel {
    fn tell(&self, hint: Hint) {
        for (_, listener) in &self.listeners {
            listener.tell(hint);
        }
    }
}

async fn ring_at_end(registry: Weak<Registry>, channel: String, at: Moment, clock: Clock) {
    let mut next = Some(at);
    while let Some(at) = next {
        clock.sleep_until(at).await;
        let Some(registry) = registry.upgrade() else {
            return;
        };
        next = registry.tell_if_over(&channel, clock.now());
    }
}

/// The hints of one listener; dropped, it listens no more.
pub(super) struct Listening {
    hints: HintStream,
    number: u64,
    names: Vec<String>,
    registry: Arc<Registry>,
}

impl Stream for Listening {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        Pin::new(&mut self.hints).poll_next(cx)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.registry.forget(self.number, &self.names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(channel: &str, payload: &[u8]) -> PushInfo {
        let bulk = |bytes: &[u8]| Value::BulkString(bytes.to_vec());
        PushInfo {
            kind: PushKind::Message,
            data: vec![bulk(channel.as_bytes()), bulk(payload)],
        }
    }

    #[tokio::test]
    async fn only_well_formed_messages_are_hints() {
        let registry = Arc::new(Registry::default());
        let mut stream = registry.listen(vec![("c".to_owned(), Says::Turn)]);
        for payload in [&b"nonsense"[..], b"", b"released@@", b"\xff@@\xff"] {
            registry.hear(&message("c", payload));
        }
        registry.hear(&PushInfo {
            kind: PushKind::Message,
            data: vec![Value::Nil],
        });
        registry.hear(&message("other", b"released@@a"));
        assert!(stream.hints.try_next().is_none());
        registry.hear(&message("c", b"released@@a"));
        assert_eq!(stream.hints.try_next(), Some(Hint::Turn));
    }

    #[tokio::test]
    async fn a_channel_is_wanted_while_somebody_listens() {
        let registry = Arc::new(Registry::default());
        let one = registry.listen(vec![("c".to_owned(), Says::Changed)]);
        let two = registry.listen(vec![("c".to_owned(), Says::Changed)]);
        drop(one);
        assert!(registry.wants("c").is_some());
        drop(two);
        assert!(registry.wants("c").is_none());
        assert_eq!(registry.take_dirty().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_waits_for_its_subscription_and_no_longer() {
        let registry = Arc::new(Registry::default());
        registry.ready("nobody listens").await;
        let _stream = registry.listen(vec![("c".to_owned(), Says::Turn)]);
        let waiting = tokio::spawn({
            let registry = Arc::clone(&registry);
            async move { registry.ready("c").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let number = registry.wants("c").unwrap();
        registry.confirm(&[("c".to_owned(), number)], false);
        waiting.await.unwrap();
        registry.suspend(&["c".to_owned()]);
        registry.refuse(&["c".to_owned()]);
        registry.ready("c").await;
        registry.suspend(&["c".to_owned()]);
        registry.ready("c").await; // ends by its limit
    }

    #[tokio::test(start_paused = true)]
    async fn listeners_are_told_when_the_lease_is_over_as_it_was_last_heard_of() {
        let (registry, clock) = (Arc::new(Registry::default()), Clock::tokio());
        let listen = || registry.listen(vec![("c".to_owned(), Says::Unlocked)]);
        let mut stream = listen();
        let begin = clock.now();
        let at = |millis| begin + Duration::from_millis(millis);
        let mut rings = async |ends: &[u64]| {
            for end in ends {
                registry.ring("c", at(*end), &clock);
                tokio::task::yield_now().await;
            }
            let hint = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
            assert_eq!(hint, Some(Hint::Turn));
            clock.now().since(begin).as_millis()
        };
        assert_eq!(rings(&[500]).await, 500);
        assert_eq!(rings(&[600, 900]).await, 900, "it was renewed");
        assert_eq!(rings(&[9_000, 1_200]).await, 1_200, "another owns");
        // A listener that has gone is told nothing, and one that comes is told anew.
        registry.ring("c", at(2_000), &clock);
        drop(stream);
        let mut other = listen();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(other.hints.try_next().is_none());
        registry.ring("nobody listens", at(0), &clock);
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_earlier_listener_asked_for_confirms_nothing_to_a_later_one() {
        let registry = Arc::new(Registry::default());
        let listen = || registry.listen(vec![("c".to_owned(), Says::Turn)]);
        let first = listen();
        let before = registry.wants("c").unwrap();
        drop(first);
        // The first is about to be unsubscribed; then the second is asked for.
        let mut second = listen();
        registry.confirm(&[("c".to_owned(), before)], false);
        registry.ready("c").await; // not confirmed: ends by its limit
        let now = registry.wants("c").unwrap();
        registry.confirm(&[("c".to_owned(), now)], false);
        assert_eq!(second.hints.try_next(), Some(Hint::Resumed));
        registry.displace("c");
        registry.confirm(&[("c".to_owned(), now)], false);
        assert!(second.hints.try_next().is_none(), "of another server");
        let there = registry.wants("c").unwrap();
        registry.confirm(&[("c".to_owned(), there)], false);
        assert_eq!(second.hints.try_next(), Some(Hint::Resumed));
    }
}
