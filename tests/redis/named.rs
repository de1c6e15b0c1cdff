//! Grants that the fence names by an id which no other has: the fence lives on when
//! they have ended, and must prove nothing then.

use std::time::{Duration, SystemTime};

use tenure::Coordinator;
use tenure::backend::{Backend, Bid, Held, Inventory as _, Nonce, Page};
use tenure::model::{FencingToken, Host, LeaseTerms, MutexName, Purpose};
use tenure_testkit::servers::Redis;

use crate::jvm::Jvm;
use crate::support::{
    self, bid, calls, client, eventually, fresh, held, long, lose, shared, terms, win,
};

const LEASE: Duration = Duration::from_secs(600);

/// A bid of `id`, which no other contender has.
fn named(mutex: &MutexName, id: &str, terms: LeaseTerms) -> Bid {
    bid(mutex, id, terms).with_unique_id()
}

fn ask(words: &[&str]) -> String {
    shared().command(words).unwrap()
}

fn key(mutex: &MutexName, end: &str) -> String {
    format!("simba:{{{mutex}}}{end}")
}

/// The grant of `held`, given back by one who wants nothing more.
fn last(held: &Held) -> Held {
    let mut last = held.clone();
    last.is_last = true;
    last
}

/// One whose lease has ended stands again under its id, which the fence still names, and
/// listens. A JVM peer owns meanwhile.
async fn stand_again(client: &impl Backend, mutex: &MutexName) -> (Held, support::Waiter) {
    let first = win(client, &named(mutex, "me", terms(200, 100))).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    eventually("the lease's end", async || jvm.acquire(LEASE).then_some(())).await;
    let waiter = support::Waiter::stand(client, named(mutex, "me", long())).await;
    (first, waiter)
}

async fn is_renewed(client: &impl Backend, held: &Held) -> bool {
    let mut answers = client.renew(std::slice::from_ref(held)).await;
    answers.remove(0).unwrap().is_won()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fence_names_the_owner_and_no_other_key_does() {
    let client = client(shared()).await;
    let mutex = fresh("named");
    let mine = named(&mutex, "0:1@h", long()).wanted_for(Purpose::Leader);
    let held = win(&client, &mine).await;
    let fence = format!("{:016} {} 0:1@h", held.token.store(), held.nonce);
    assert_eq!(ask(&["GET", &key(&mutex, ":fence")]), fence);
    assert_eq!(ask(&["EXISTS", &key(&mutex, ":grant")]), "0");
    // Whoever looks sees owner, token and purpose.
    let seen = client.owner(&mutex).await.unwrap();
    assert_eq!(seen.owner().token(), Some(held.token));
    let names = [mutex.clone()];
    let inventory = client.inventory().unwrap();
    let page = Page::of(names.clone());
    let listing = inventory.list(&page).await.unwrap();
    let entry = &listing.entries[0];
    assert_eq!((&entry.name, entry.token), (&names[0], Some(held.token)));
    assert_eq!(entry.purpose, Some(Purpose::Leader));
    let others = lose(&client, &named(&mutex, "0:2@h", long()).without_queue()).await;
    assert_eq!(others.owner().token(), Some(held.token));
    // Found again under its nonce, and under no other.
    let again = client.acquire(&mine).await.unwrap();
    assert_eq!(again.token(), Some(held.token));
    lose(&client, &mine.clone().with_nonce(Nonce::random())).await;
    // A release of the last frees by the id; asked again it frees nothing.
    assert!(client.release(&last(&held)).await.unwrap().is_won());
    assert!(!client.release(&last(&held)).await.unwrap().is_won());
    assert_eq!(ask(&["EXISTS", &key(&mutex, "")]), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_proves_a_grant_does_not_end_before_its_lease() {
    let client = client(shared()).await;
    const DAY: u64 = 86_400_000;
    for days in [1, 5, 6, 7, 30, 365] {
        let mutex = fresh("days");
        let mine = named(&mutex, "0:1@h", terms(days * DAY / 2, days * DAY / 2));
        let held = win(&client, &mine).await;
        let left = |end| ask(&["PTTL", &key(&mutex, end)]).parse::<i64>().unwrap();
        let end = left("");
        if ask(&["EXISTS", &key(&mutex, ":grant")]) == "0" {
            // Renewals of a day move the lease's end alone, and a fence that is touched
            // again within a quarter of an hour is not moved, either.
            assert!(left(":fence") - 1_000_000 > end + DAY as i64, "{days} days");
        } else {
            assert!(left(":grant") + 1_000 > end, "{days} days");
        }
        assert!(is_renewed(&client, &held).await);
        assert_eq!(
            client.acquire(&mine).await.unwrap().token(),
            Some(held.token)
        );
        assert!(client.release(&last(&held)).await.unwrap().is_won());
        for end in ["", ":grant"] {
            assert_eq!(ask(&["EXISTS", &key(&mutex, end)]), "0", "{days} days");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jvm_owner_that_came_after_it_is_left_alone() {
    let client = client(shared()).await;
    let mutex = fresh("after");
    let mine = named(&mutex, "rust", terms(200, 100));
    let held = win(&client, &mine).await;
    let jvm = Jvm::new(shared(), mutex.as_str(), "jvm");
    eventually("the lease's end", async || jvm.acquire(LEASE).then_some(())).await;
    // The fence still names ours.
    assert!(ask(&["GET", &key(&mutex, ":fence")]).ends_with(" rust"));
    assert_eq!(client.owner(&mutex).await.unwrap().owner().token(), None);
    assert!(!is_renewed(&client, &held).await);
    for late in [&held, &last(&held)] {
        let answer = client.release(late).await.unwrap();
        assert!(!answer.is_won(), "{answer:?}");
        assert_eq!(answer.owner().token(), None, "a JVM owner has no token");
    }
    client.leave(&mine).await.unwrap();
    lose(&client, &mine).await;
    assert!(jvm.renew(LEASE), "the JVM owner was left alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_grant_frees_nothing_of_a_contender_that_stands_again() {
    let client = client(shared()).await;
    let mutex = fresh("again");
    let first = win(&client, &named(&mutex, "me", terms(200, 100))).await;
    let later = named(&mutex, "me", long());
    let second = eventually("the lease's end", async || {
        held(&later, &client.acquire(&later).await.unwrap())
    })
    .await;
    assert!(second.token > first.token);
    assert!(!is_renewed(&client, &first).await);
    assert!(!client.release(&first).await.unwrap().is_won());
    // Nor does what undoes the bid before.
    let mut before = named(&mutex, "me", long());
    before.nonce = first.nonce;
    client.leave(&before).await.unwrap();
    assert!(is_renewed(&client, &second).await);
    assert!(client.release(&second).await.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_kept_for_whom_the_fence_names_is_no_grant() {
    let client = client(shared()).await;
    let mutex = fresh("kept");
    let (first, mut waiter) = stand_again(&client, &mutex).await;
    // The JVM owner is gone without having told anybody; another comes first.
    ask(&["DEL", &key(&mutex, "")]);
    lose(&client, &named(&mutex, "third", long()).without_queue()).await;
    assert_eq!(ask(&["GET", &key(&mutex, "")]), "me", "kept for it");
    let seen = client.owner(&mutex).await.unwrap();
    assert_eq!(seen.owner().owner_id(), None, "and owned by nobody");
    assert!(!is_renewed(&client, &first).await);
    assert!(!client.release(&first).await.unwrap().is_won());
    let second = waiter.win(&client).await;
    assert!(second.token > first.token, "a new grant has a new token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_place_that_a_last_release_gives_on_is_no_grant() {
    let client = client(shared()).await;
    let mutex = fresh("given-on");
    let (first, mut waiter) = stand_again(&client, &mutex).await;
    // The place is kept for another, which a late take had put into the queue after its
    // last tenure. Then its last release arrives, by its id alone.
    for end in ["", ":kept"] {
        ask(&["SET", &key(&mutex, end), "gone", "PX", "600000"]);
    }
    let gone = last(&named(&mutex, "gone", long()).held(first.token));
    assert!(client.release(&gone).await.unwrap().is_won());
    assert_eq!(ask(&["GET", &key(&mutex, "")]), "me", "kept for it");
    let seen = client.owner(&mutex).await.unwrap();
    assert_eq!(seen.owner().owner_id(), None, "and owned by nobody");
    assert!(!is_renewed(&client, &first).await);
    let second = waiter.win(&client).await;
    assert!(second.token > first.token, "a new grant has a new token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_fence_was_deleted_learns_of_it_and_nobody_is_beside_it() {
    let client = client(shared()).await;
    let mutex = fresh("deleted");
    let held = win(&client, &named(&mutex, "me", long())).await;
    ask(&["DEL", &key(&mutex, ":fence")]);
    lose(&client, &named(&mutex, "other", long()).without_queue()).await;
    assert!(!is_renewed(&client, &held).await, "nothing proves it");
    lose(&client, &named(&mutex, "other", long()).without_queue()).await;
    assert!(client.release(&last(&held)).await.unwrap().is_won());
    let next = win(&client, &named(&mutex, "other", long())).await;
    assert!(next.token > held.token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_names_an_owner_does_not_end_before_it() {
    let client = client(shared()).await;
    let mutex = fresh("week");
    let mut held = win(&client, &named(&mutex, "me", long())).await;
    let fence = key(&mutex, ":fence");
    let left = || ask(&["TTL", &fence]).parse::<i64>().unwrap();
    // Of today: the renewal leaves it as it is.
    ask(&["PEXPIRE", &fence, "100000000"]);
    assert!(is_renewed(&client, &held).await);
    assert!(left() <= 100_000, "{}", left());
    // Of the day before yesterday.
    let old = held.token.store() - 2 * 86_400_000_000;
    held.token = FencingToken::from_store(old).unwrap();
    let text = format!("{old:016} {} me", held.nonce);
    ask(&["SET", &fence, &text, "EX", "86400"]);
    assert!(is_renewed(&client, &held).await);
    assert!((604_000..=604_800).contains(&left()), "{}", left());
    // Of the month after this: nobody knows how old that is.
    let ahead = old + 32 * 86_400_000_000;
    held.token = FencingToken::from_store(ahead).unwrap();
    let text = format!("{ahead:016} {} me", held.nonce);
    ask(&["SET", &fence, &text, "EX", "86400"]);
    assert!(is_renewed(&client, &held).await);
    assert!((604_000..=604_800).contains(&left()), "{}", left());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_that_is_no_token_is_left_as_it_is() {
    let client = client(shared()).await;
    let mutex = fresh("foreign");
    let fence = key(&mutex, ":fence");
    for unique_id in [false, true] {
        let mut mine = bid(&mutex, "me", long());
        mine.unique_id = unique_id;
        // With the clock asked, and with it reckoned.
        for _ in 0..2 {
            let held = win(&client, &mine).await;
            assert!(client.release(&last(&held)).await.unwrap().is_won());
            mine.nonce = Nonce::random();
        }
        // Nanoseconds, say: longer than a token, and smaller as a text.
        for foreign in ["17000000000000000", "1000000000000000000"] {
            let before = ask(&["GET", &fence]);
            ask(&["SET", &fence, foreign]);
            let error = client.acquire(&mine).await.unwrap_err();
            assert!(error.to_string().contains("fence"), "{error}");
            assert_eq!(ask(&["GET", &fence]), foreign);
            ask(&["SET", &fence, &before]);
        }
    }
}

/// As the client puts it together.
const TAKE: &str = concat!(
    include_str!("../../src/stores/redis/scripts/take_free.lua"),
    include_str!("../../src/stores/redis/scripts/common.lua"),
    include_str!("../../src/stores/redis/scripts/take.lua"),
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_reckoned_ahead_of_the_clock_leaves_nothing_without_a_fence() {
    let client = client(shared()).await;
    let mutex = fresh("ahead");
    // A place is kept for it, and of the fence nothing is left.
    for end in ["", ":kept"] {
        ask(&["SET", &key(&mutex, end), "me", "PX", "600000"]);
    }
    let ahead = SystemTime::UNIX_EPOCH.elapsed().unwrap() + Duration::from_secs(60);
    let words = format!("{:016} {:032x} me", ahead.as_micros(), 7);
    let ends = ["", ":contender", ":grant", ":kept", ":seen", ":fence"];
    let keys = ends.map(|end| key(&mutex, end));
    let mut take = vec!["EVAL", TAKE, "6"];
    take.extend(keys.iter().map(String::as_str));
    take.extend(["me", "10000", &words, "1 1 250 0 0", "1.000001"]);
    ask(&take);
    // Granted by the longer way, and not found again as if it had been before.
    assert_eq!(ask(&["EXISTS", &key(&mutex, ":kept")]), "0");
    let left = ask(&["PTTL", &key(&mutex, "")]).parse::<i64>().unwrap();
    assert!(left <= 10_000, "for a lease, and not for {left} ms");
    let fence = key(&mutex, ":fence");
    let left = ask(&["PTTL", &fence]).parse::<i64>().unwrap();
    assert!(left > 604_000_000, "the fence ends: {left}");
    let granted = ask(&["GET", &fence])[..16].parse::<u64>().unwrap();
    ask(&["DEL", &key(&mutex, "")]);
    let next = win(&client, &named(&mutex, "other", long())).await;
    assert!(next.token.store() > granted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_of_every_kind_are_named() {
    let client = client(shared()).await;
    let long_id = "x".repeat(128);
    for id in [
        "1",
        "17 ff",
        "a b  c",
        "7 0123456789abcdef0123456789abcdef z",
        &long_id,
    ] {
        for _ in 0..2 {
            let mutex = fresh("kinds");
            let held = win(&client, &named(&mutex, id, long())).await;
            let seen = client.owner(&mutex).await.unwrap();
            assert_eq!(seen.owner().token(), Some(held.token), "{id:?}");
            assert!(is_renewed(&client, &held).await, "{id:?}");
            assert!(client.release(&held).await.unwrap().is_won(), "{id:?}");
            let held = win(&client, &named(&mutex, id, long())).await;
            assert!(client.release(&last(&held)).await.unwrap().is_won());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_whoever_reckons_and_whatever_is_lost() {
    let server = Redis::start().unwrap();
    let clients = [client(&server).await, client(&server).await];
    let mutex = support::name("m");
    let mut token = 0;
    for round in 0..400 {
        let client = &clients[fastrand::usize(..2)];
        // Ids of either kind, and keys that go.
        let mine = bid(&mutex, &format!("me{round}"), long());
        let mine = if fastrand::bool() {
            mine.with_unique_id()
        } else {
            mine
        };
        let held = win(client, &mine).await;
        assert!(held.token.store() > token, "round {round}");
        token = held.token.store();
        assert!(client.release(&held).await.unwrap().is_won());
        // What is lost while the fence is ahead of the clock is lost: see
        // docs/guarantees.md.
        let micros = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros();
        if micros <= u128::from(token) {
            continue;
        }
        match fastrand::u8(..20) {
            0 => drop(server.command(&["FLUSHALL"]).unwrap()),
            1 => drop(server.command(&["DEL", "simba:{m}:fence"]).unwrap()),
            2 => {
                // As after the clock was ahead.
                token += 50_000;
                let ahead = token.to_string();
                server.command(&["SET", "simba:{m}:fence", &ahead]).unwrap();
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_a_server_is_asked_anew_on_every_connection() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let mutex = support::name("m");
    let cycle = async || {
        let mine = named(&mutex, "me", long());
        let held = eventually("an answer", async || {
            held(&mine, &client.acquire(&mine).await.ok()?)
        })
        .await;
        assert!(client.release(&last(&held)).await.unwrap().is_won());
        held.token
    };
    cycle().await;
    let before = calls(&server, "time");
    for _ in 0..20 {
        cycle().await;
    }
    // Of twenty within a second none or one asks; on a slow machine a few more.
    assert!(calls(&server, "time") - before < 20, "it is reckoned");
    server.restart_empty().unwrap();
    // Another server, as far as anybody knows. It has a fence, as a replica would.
    server
        .command(&["SET", "simba:{m}:fence", "1700000000000000"])
        .unwrap();
    let before = calls(&server, "time");
    let token = cycle().await;
    assert!(
        calls(&server, "time") > before,
        "its own clock says the first token"
    );
    assert!(cycle().await > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_ids_that_no_other_has_are_named() {
    let mutex = fresh("generators");
    for (ids, is_named) in [(Host::new(), true), (Host::from_zero(), false)] {
        let builder = Coordinator::builder().ids(ids);
        let coordinator = builder.connect(support::url(shared())).await.unwrap();
        let guard = coordinator.lock(&mutex).unwrap().acquire().await.unwrap();
        let fence = ask(&["GET", &key(&mutex, ":fence")]);
        assert_eq!(fence.contains(' '), is_named, "{fence:?}");
        let grant = ask(&["EXISTS", &key(&mutex, ":grant")]);
        assert_eq!(grant == "0", is_named);
        guard.release().await.unwrap();
        coordinator.close().await.unwrap();
    }
}
