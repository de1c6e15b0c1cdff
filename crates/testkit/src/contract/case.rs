//! [`Case`]: one test of one sentence, with names of its own and calls that must
//! succeed.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::backend::{Answer, Backend, Bid, Held, LeaseBound, Profile, Wakeup};
use tenure::clock::{Clock, Moment};
use tenure::model::{ContenderId, FencingToken, LeaseTerms, MutexName, MutexOwner, StoreTime};

use super::{Part, Subject};

/// A won bid, with the moments between which the store applied it.
#[derive(Clone, Debug)]
pub(crate) struct Win {
    pub(crate) held: Held,
    pub(crate) answer: Answer,
    pub(crate) sent_at: Moment,
    pub(crate) answered_at: Moment,
}

impl Win {
    pub(crate) fn token(&self) -> FencingToken {
        self.held.token
    }

    /// Whether something answered at `at` was surely applied within the lease,
    /// as the holder itself reckons.
    pub(crate) fn is_surely_valid(&self, at: Moment) -> bool {
        at < self.sent_at + self.held.terms.valid_for()
    }

    /// From here on the lease is surely over.
    pub(crate) fn surely_over(&self) -> Moment {
        // Two milliseconds: the store counts whole ones, and its end is the
        // last moment that is still owned.
        self.answered_at + self.held.terms.lease() + Duration::from_millis(2)
    }
}

/// One test of one sentence.
pub(crate) struct Case<'a, S: Subject> {
    pub(crate) subject: &'a S,
    tag: String,
    counter: AtomicU32,
}

/// By how much two readings of the same store time may differ: a store may
/// know the end of a lease only as a rest in whole milliseconds.
pub(crate) const ROUNDING: Duration = Duration::from_millis(5);

/// How often a trial that the machine was too slow to judge is made again.
const TRIALS: usize = 8;

impl<'a, S: Subject> Case<'a, S> {
    pub(crate) fn new(subject: &'a S) -> Self {
        Self {
            subject,
            tag: format!("{:010x}", fastrand::u64(..1 << 40)),
            counter: AtomicU32::new(0),
        }
    }

    pub(crate) async fn client(&self) -> S::Backend {
        let client = self.subject.client().await;
        client.unwrap_or_else(|error| panic!("the subject cannot open a client: {error:?}"))
    }

    /// A client for [long bids](Self::long_bid).
    pub(crate) async fn lasting_client(&self) -> S::Backend {
        let client = self.subject.lasting_client().await;
        client.unwrap_or_else(|error| panic!("the subject cannot open a client: {error:?}"))
    }

    /// Whether the store has no such part, as its subject must have declared.
    /// Then one line says that `sentence` says nothing about it.
    pub(crate) fn has_none(&self, client: &S::Backend, part: Part, sentence: &str) -> bool {
        let has = match part {
            Part::Ledger => client.ledger().is_some(),
            Part::Inventory => client.inventory().is_some(),
            Part::Administration => client.administration().is_some(),
        };
        let declared = self.subject.lacks().contains(&part);
        assert!(
            has || declared,
            "{part:?} is missing: it was not passed on, or must be declared"
        );
        assert!(
            !has || !declared,
            "{part:?} is there, though it was declared to be missing"
        );
        if !has {
            let scheme = client.profile().scheme;
            say(&format!("has none: {scheme}: {sentence}: {part:?}\n"));
        }
        !has
    }

    pub(crate) fn clock(&self) -> Clock {
        self.subject.clock()
    }

    pub(crate) async fn settle(&self) {
        self.subject.settle().await;
    }

    pub(crate) fn patience(&self) -> Duration {
        self.subject.patience()
    }

    /// What makes this test's names its own.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// A name that only this test uses.
    pub(crate) fn name(&self, what: &str) -> MutexName {
        MutexName::new(format!("{}-{what}", self.tag)).expect("a valid name")
    }

    /// An id that no other carries.
    pub(crate) fn id(&self, what: &str) -> ContenderId {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        ContenderId::new(format!("{what}-{number}-{}", self.tag)).expect("a valid id")
    }

    /// A bid with an id of its own that takes no place when refused.
    pub(crate) fn bid(&self, name: &MutexName, who: &str) -> Bid {
        let bid = self.bid_of(name, &self.id(who));
        if self.subject.unique_ids() {
            bid.with_unique_id()
        } else {
            bid
        }
    }

    /// A bid of `id`, which others may carry too.
    pub(crate) fn bid_of(&self, name: &MutexName, id: &ContenderId) -> Bid {
        Bid::new(name.clone(), id.clone(), self.subject.terms()).without_queue()
    }

    /// The same as [`bid`](Self::bid), for tests of many calls: its lease does
    /// not end meanwhile.
    pub(crate) fn long_bid(&self, name: &MutexName, who: &str) -> Bid {
        let terms = LeaseTerms::new(Duration::from_secs(60), Duration::from_secs(60));
        let mut bid = self.bid(name, who);
        bid.terms = terms.expect("long enough");
        bid
    }

    /// The terms that count on `client`.
    pub(crate) fn terms(&self, client: &S::Backend) -> LeaseTerms {
        match client.profile().bound {
            LeaseBound::Terms => self.subject.terms(),
            LeaseBound::Session(terms) => terms,
            other => panic!("this suite does not know {other:?}"),
        }
    }

    /// How soon a waiter must hear of a change.
    pub(crate) fn wake_up(&self, client: &S::Backend) -> Duration {
        match client.profile().wakeup {
            Wakeup::Push => self.patience(),
            Wakeup::Poll(interval) => interval * 2 + self.patience(),
            other => panic!("this suite does not know {other:?}"),
        }
    }

    /// How long hints that are on their way may take to arrive, as a rule.
    pub(crate) fn quiet(&self, client: &S::Backend) -> Duration {
        match client.profile().wakeup {
            Wakeup::Push => Duration::from_millis(50),
            Wakeup::Poll(interval) => interval * 2 + Duration::from_millis(50),
            other => panic!("this suite does not know {other:?}"),
        }
    }

    /// `bid` must win.
    pub(crate) async fn win(&self, client: &S::Backend, bid: &Bid) -> Win {
        self.try_win(client, bid)
            .await
            .unwrap_or_else(|answer| panic!("{bid:?} must win a free mutex, and got {answer:?}"))
    }

    /// What the store says to `bid`; its errors are failures of the test.
    pub(crate) async fn try_win(&self, client: &S::Backend, bid: &Bid) -> Result<Win, Answer> {
        let clock = self.clock();
        let sent_at = clock.now();
        let answer = client.acquire(bid).await;
        let answer = answer.unwrap_or_else(|error| panic!("acquire failed: {error:?}"));
        if !answer.is_won() {
            return Err(answer);
        }
        assert!(
            answer.owner().is_owner(&bid.contender),
            "a won answer names its winner, not {answer:?}"
        );
        let token = answer.token();
        let token = token.unwrap_or_else(|| panic!("a won answer has a token: {answer:?}"));
        let mut held = bid.held(token);
        if let LeaseBound::Session(terms) = client.profile().bound {
            held.terms = terms;
        }
        Ok(Win {
            held,
            answer,
            sent_at,
            answered_at: clock.now(),
        })
    }

    /// `bid` must be refused.
    pub(crate) async fn lose(&self, client: &S::Backend, bid: &Bid, why: &str) -> Answer {
        match self.try_win(client, bid).await {
            Ok(win) => panic!("{why}: the bid must be refused, and it won: {win:?}"),
            Err(answer) => answer,
        }
    }

    /// `bid` must win within `limit`, asking often.
    pub(crate) async fn win_within(
        &self,
        client: &S::Backend,
        bid: &Bid,
        limit: Duration,
        why: &str,
    ) -> Win {
        let clock = self.clock();
        let end = clock.now() + limit;
        loop {
            let refused = match self.try_win(client, bid).await {
                Ok(win) => return win,
                Err(answer) => answer,
            };
            assert!(
                clock.now() < end,
                "{why}: not won within {limit:?}: {refused:?}"
            );
            clock.sleep(Duration::from_millis(10)).await;
        }
    }

    /// Renews one grant.
    pub(crate) async fn renew(&self, client: &S::Backend, held: &Held) -> Answer {
        let mut answers = client.renew(std::slice::from_ref(held)).await;
        assert_eq!(answers.len(), 1, "one answer for one grant: {answers:?}");
        let answer = answers.remove(0);
        answer.unwrap_or_else(|error| panic!("renew failed: {error:?}"))
    }

    /// Releases `held`; it must have been there.
    pub(crate) async fn release(&self, client: &S::Backend, held: &Held) {
        let answer = self.try_release(client, held).await;
        assert!(
            answer.is_won(),
            "releasing {held:?} must free it: {answer:?}"
        );
    }

    /// What the store says to the release of `held`.
    pub(crate) async fn try_release(&self, client: &S::Backend, held: &Held) -> Answer {
        let answer = client.release(held).await;
        answer.unwrap_or_else(|error| panic!("release failed: {error:?}"))
    }

    pub(crate) async fn leave(&self, client: &S::Backend, bid: &Bid) {
        let left = client.leave(bid).await;
        left.unwrap_or_else(|error| panic!("leave failed: {error:?}"));
    }

    /// Who owns `name`, and the store's time.
    pub(crate) async fn owner(
        &self,
        client: &S::Backend,
        name: &MutexName,
    ) -> (MutexOwner, StoreTime) {
        let answer = client.owner(name).await;
        let answer = answer.unwrap_or_else(|error| panic!("owner failed: {error:?}"));
        (answer.owner().clone(), answer.now())
    }

    /// `win` must own as it did when it won: same token, same end.
    pub(crate) async fn still_owns(&self, client: &S::Backend, win: &Win, why: &str) {
        let (owner, _) = self.owner(client, &win.held.name).await;
        assert!(
            owner.is_owner(&win.held.contender) && shows(&client.profile(), &owner, win),
            "{why}: {:?} must still own, not {owner:?}",
            win.held
        );
        // A session's heartbeat may move the end at any time.
        if client.profile().bound == LeaseBound::Terms {
            same_end(&owner, win.answer.owner(), why);
        }
    }

    async fn is_owned(&self, client: &S::Backend, name: &MutexName) -> bool {
        let (owner, now) = self.owner(client, name).await;
        owner.has_owner(now)
    }

    /// `name` must be free.
    pub(crate) async fn is_free(&self, client: &S::Backend, name: &MutexName, why: &str) {
        let (owner, now) = self.owner(client, name).await;
        assert!(
            !owner.has_owner(now),
            "{why}: nobody must own, not {owner:?}"
        );
    }

    /// Makes the grant of `client` end without a release, and waits for it: by
    /// not renewing, or where a session holds it, by the client's death.
    pub(crate) async fn run_out(&self, client: S::Backend, win: &Win) {
        if let LeaseBound::Session(_) = client.profile().bound {
            let witness = self.client().await;
            self.subject.abandon(client).await;
            let over = self.clock().now() + win.held.terms.lease() + self.patience();
            // Whether it was in time is for the caller to judge.
            while self.clock().now() < over && self.is_owned(&witness, &win.held.name).await {
                self.clock().sleep(Duration::from_millis(50)).await;
            }
            return self.clock().sleep_until(win.surely_over()).await;
        }
        self.clock().sleep_until(win.surely_over()).await;
    }

    /// Repeats `trial` until it could be judged.
    pub(crate) async fn judged(&self, trial: impl AsyncFn() -> Option<()>) {
        for _ in 0..TRIALS {
            if trial().await.is_some() {
                return;
            }
        }
        panic!(
            "{TRIALS} times no answer came in time to be judged: the machine is too slow for \
             leases of {:?}; give the subject longer terms",
            self.subject.terms().lease()
        );
    }
}

/// Whether `owner`, as others see it, shows the token of `win`. Where the store
/// has no room for a nonce it may show none: its number may be that of a peer
/// which moves it with every renewal.
pub(crate) fn shows(profile: &Profile, owner: &MutexOwner, win: &Win) -> bool {
    match owner.token() {
        Some(token) => token == win.held.token,
        None => !profile.nonce,
    }
}

/// Both ends must be the same where both are known.
pub(crate) fn same_end(left: &MutexOwner, right: &MutexOwner, why: &str) {
    if let (Some(left), Some(right)) = (left.transition_at(), right.transition_at()) {
        let apart = left.since(right).max(right.since(left));
        assert!(
            apart <= ROUNDING,
            "{why}: the lease must end where it did, not {apart:?} away"
        );
    }
}

/// Says that a sentence says nothing about this store.
pub(crate) fn not_applicable(profile: &Profile, sentence: &str, why: &str) {
    let scheme = profile.scheme;
    say(&format!(
        "not applicable by profile: {scheme}: {sentence}: {why}\n"
    ));
}

/// Not through the print macros: the test harness would swallow it.
fn say(line: &str) {
    std::io::stderr().write_all(line.as_bytes()).ok();
}
