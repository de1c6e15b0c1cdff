//! Processes of the version before, beside those of this one: a fleet in the
//! middle of an upgrade. The scripts here are that version's, word for word.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tenure::backend::{Backend, Bid};
use tenure_testkit::servers::Redis;

use crate::jvm::Jvm;
use crate::permits::{granted, is_enough_for_locks, lines};
use crate::support::{
    Waiter, bid, client, eventually, fresh, long, lose, open, shared, terms, win,
};

macro_rules! script {
    ($file:literal) => {
        concat!(include_str!("common.lua"), include_str!($file))
    };
}

/// A contender of the version before.
#[derive(Clone)]
struct Earlier {
    server: &'static Redis,
    mutex: String,
    id: String,
}

/// What it has won.
#[derive(Clone, Debug)]
struct Grant(String);

impl Grant {
    fn number(&self) -> u64 {
        self.0.split(' ').next().unwrap().parse().unwrap()
    }
}

impl Earlier {
    fn new(mutex: &str, id: &str) -> Self {
        Self {
            server: shared(),
            mutex: mutex.to_owned(),
            id: id.to_owned(),
        }
    }

    /// The lines that a script of its answers.
    fn run(&self, script: &str, ends: &[&str], arguments: &[&str]) -> Vec<String> {
        let keys = ends
            .iter()
            .map(|end| format!("simba:{{{}}}{end}", self.mutex));
        let keys: Vec<String> = keys.collect();
        let number = keys.len().to_string();
        let mut words = vec!["EVAL", script, &number];
        words.extend(keys.iter().map(String::as_str));
        words.extend(arguments);
        let answer = self.server.command(&words).unwrap();
        answer.split('\n').map(str::to_owned).collect()
    }

    fn about_one(&self, script: &str, arguments: &[&str]) -> Vec<String> {
        let ends = ["", ":contender", ":fence", ":grant", ":kept", ":seen"];
        self.run(script, &ends, arguments)
    }

    fn try_take(&self, nonce: &str, lease: Duration, queue: &str, score: &str) -> Option<Grant> {
        self.take_or_keep("250", nonce, lease, queue, score)
    }

    /// The same; a place for another is kept for so many milliseconds.
    fn take_or_keep(
        &self,
        reserve: &str,
        nonce: &str,
        lease: Duration,
        queue: &str,
        score: &str,
    ) -> Option<Grant> {
        let lease = lease.as_millis().to_string();
        let id = &self.id;
        let arguments = [id, nonce, &lease, queue, score, reserve, "0", "0", "0"];
        let answer = self.about_one(script!("take.lua"), &arguments);
        (answer[0] == "won").then(|| Grant(answer[2].clone()))
    }

    /// Takes, or stands in line.
    fn take(&self, lease: Duration) -> Option<Grant> {
        self.try_take("0b", lease, "1", "")
    }

    fn release(&self, grant: &Grant) -> bool {
        let arguments = [&self.id, &grant.0, "250", "0"];
        self.about_one(script!("release.lua"), &arguments)[0] == "won"
    }

    fn leave(&self, nonce: &str) {
        self.about_one(script!("leave.lua"), &[&self.id, nonce, "250", "0"]);
    }

    fn renews(&self, grant: &Grant) -> bool {
        let script = include_str!("renew.lua");
        let answer = self.run(script, &["", ":grant"], &[&self.id, &grant.0, "60000"]);
        answer[2] == grant.0
    }

    /// Who owns in its eyes, and under which grant.
    fn looks(&self) -> (String, String) {
        let answer = self.about_one(script!("look.lua"), &["0"]);
        let owner = answer[0].split("@@").next().unwrap();
        (owner.to_owned(), answer[1].clone())
    }
}

const LEASE: Duration = Duration::from_secs(60);

fn ours(mutex: &tenure::model::MutexName) -> Bid {
    bid(mutex, "new", long())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sees_the_others_grant_and_leaves_it_alone() {
    let client = client(shared()).await;
    let mutex = fresh("both-versions");
    let earlier = Earlier::new(mutex.as_str(), "old");
    let held = win(&client, &ours(&mutex)).await;
    assert!(earlier.take(LEASE).is_none(), "it is owned");
    let (owner, grant) = earlier.looks();
    assert_eq!(owner, "new");
    assert!(grant.starts_with(&format!("{} ", held.token.store())));
    assert!(!earlier.release(&Grant(grant.replace(' ', " x"))));
    earlier.leave("0b");
    assert!(client.release(&held).await.unwrap().is_won());

    let grant = earlier.take(LEASE).expect("it is free");
    assert!(grant.number() > held.token.store(), "tokens rise");
    lose(&client, &ours(&mutex).without_queue()).await;
    let seen = client.owner(&mutex).await.unwrap();
    assert!(seen.owner().is_owner(&"old".parse().unwrap()));
    assert_eq!(seen.owner().token().unwrap().store(), grant.number());
    let renewed = client.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(!renewed.unwrap().is_won());
    assert!(!client.release(&held).await.unwrap().is_won());
    client.leave(&ours(&mutex)).await.unwrap();
    assert!(earlier.renews(&grant), "it was left alone");
    assert!(earlier.release(&grant));
    let held = win(&client, &ours(&mutex)).await;
    assert!(held.token.store() > grant.number(), "tokens rise");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_hand_the_mutex_to_each_other_by_push() {
    let client = client(shared()).await;
    let mutex = fresh("turns-of-versions");
    let earlier = Earlier::new(mutex.as_str(), "old");
    // It listens where the version before does.
    let ears = Jvm::new(shared(), mutex.as_str(), "old");
    let mut held = win(&client, &ours(&mutex)).await;
    ears.hears();
    for _ in 0..3 {
        assert!(earlier.take(LEASE).is_none(), "it stands in line");
        assert!(client.release(&held).await.unwrap().is_won());
        assert_eq!(ears.hears(), format!("simba:{{{mutex}}}:old released@@new"));
        // Kept for the one who was told: none of ours comes before it.
        lose(&client, &ours(&mutex).without_queue()).await;
        let grant = earlier.take(LEASE).expect("kept for it");
        ears.hears();
        let mut waiter = Waiter::stand(&client, ours(&mutex)).await;
        assert!(earlier.release(&grant));
        assert!(
            earlier.try_take("0c", LEASE, "0", "").is_none(),
            "kept for ours"
        );
        held = waiter.win(&client).await;
        ears.hears();
        assert!(held.token.store() > grant.number(), "tokens rise");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_of_the_version_before_left_ends_by_itself() {
    let client = client(shared()).await;
    let mutex = fresh("left-behind");
    let earlier = Earlier::new(mutex.as_str(), "old");
    let grant = earlier.take(Duration::from_millis(300)).expect("free");
    lose(&client, &ours(&mutex).without_queue()).await;
    let held = eventually("the end of its lease", async || {
        let answer = client.acquire(&ours(&mutex).without_queue()).await.unwrap();
        answer.token()
    })
    .await;
    assert!(held.store() > grant.number());
    assert!(!earlier.renews(&grant) && !earlier.release(&grant));
    // And the other way round.
    let mutex = fresh("left-behind");
    let earlier = Earlier::new(mutex.as_str(), "old");
    let held = win(&client, &bid(&mutex, "new", terms(200, 100))).await;
    let grant = eventually("the end of its lease", async || {
        earlier.try_take("0b", LEASE, "0", "")
    })
    .await;
    assert!(grant.number() > held.token.store());
    assert!(!client.release(&held).await.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_the_version_before_keeps_is_no_grant_of_whom_the_fence_names() {
    let client = client(shared()).await;
    let mutex = fresh("kept-before");
    let named = |terms| bid(&mutex, "new", terms).with_unique_id();
    // Its answer is lost, and a late take of its earlier bid puts it into the queue.
    let lost = named(terms(1_500, 500));
    let first = win(&client, &lost).await;
    let _listens = Waiter::stand(&client, named(long())).await;
    eventually("the lease's end", async || {
        let owner = format!("simba:{{{mutex}}}");
        (shared().command(&["EXISTS", &owner]).unwrap() == "0").then_some(())
    })
    .await;
    let earlier = Earlier::new(mutex.as_str(), "old");
    let taken = earlier.take_or_keep("20000", "0b", LEASE, "0", "");
    assert!(taken.is_none());
    let mark = format!("simba:{{{mutex}}}:kept");
    assert_eq!(shared().command(&["GET", &mark]).unwrap(), "new");
    // What it was granted under this nonce has ended: it is granted anew.
    let second = client.acquire(&lost).await.unwrap();
    let token = second.token().expect("it was kept for it");
    assert!(token > first.token, "{token} after {}", first.token);
    assert_eq!(shared().command(&["EXISTS", &mark]).unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_two_owners_while_both_versions_run() {
    let mutex = fresh("mixed");
    static OWNED: AtomicBool = AtomicBool::new(false);
    static LAST: AtomicU64 = AtomicU64::new(0);
    static TURNS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    fn begin(number: u64, version: usize) {
        assert!(!OWNED.swap(true, Ordering::SeqCst), "two owners");
        assert!(LAST.swap(number, Ordering::SeqCst) < number, "tokens rise");
        TURNS[version].fetch_add(1, Ordering::SeqCst);
    }
    fn end() {
        assert!(OWNED.swap(false, Ordering::SeqCst));
    }
    const TURNS_EACH: u64 = 60;
    let is_done = || {
        TURNS
            .iter()
            .all(|turns| turns.load(Ordering::SeqCst) >= TURNS_EACH)
    };
    let mut work = tokio::task::JoinSet::new();
    for number in 0..3 {
        let earlier = Earlier::new(mutex.as_str(), &format!("old{number}"));
        work.spawn_blocking(move || {
            while !is_done() {
                let nonce = format!("{:x}", fastrand::u32(1..));
                let queue = if fastrand::bool() { "1" } else { "0" };
                let Some(grant) = earlier.try_take(&nonce, LEASE, queue, "") else {
                    // As one that is killed while it waits, now and then.
                    if fastrand::u8(..8) > 0 {
                        earlier.leave(&nonce);
                    }
                    continue;
                };
                begin(grant.number(), 0);
                if fastrand::bool() {
                    assert!(earlier.renews(&grant));
                }
                end();
                assert!(earlier.release(&grant));
            }
        });
        let (client, mutex) = (client(shared()).await, mutex.clone());
        work.spawn(async move {
            while !is_done() {
                let mut bid = bid(&mutex, &format!("new{number}"), long());
                bid.queue = fastrand::bool();
                bid.unique_id = fastrand::bool();
                let answer = client.acquire(&bid).await.unwrap();
                let Some(token) = answer.token() else {
                    client.leave(&bid).await.unwrap();
                    continue;
                };
                begin(token.store(), 1);
                let held = bid.held(token);
                if fastrand::bool() {
                    let renewed = client.renew(std::slice::from_ref(&held)).await;
                    assert!(renewed[0].as_ref().unwrap().is_won());
                }
                end();
                assert!(client.release(&held).await.unwrap().is_won());
            }
        });
    }
    let all = async {
        while let Some(done) = work.join_next().await {
            done.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(180), all)
        .await
        .expect("both versions have their turns");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_permissions_of_the_version_before_are_enough() {
    let user = lines("redis://tenure@host").remove(0);
    let user = user.replace("+exists ", "");
    let server = granted(Redis::builder(), &user).start().unwrap();
    let url = format!("redis://tenure:secret@127.0.0.1:{}", server.port());
    is_enough_for_locks(&url, &server).await;
    let client = open(&url).await;
    let mutex = fresh("permitted");
    let held = win(&client, &ours(&mutex)).await;
    assert!(client.release(&held).await.unwrap().is_won());
}
