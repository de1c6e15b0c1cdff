//! What things cost, counted by the server itself.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Answer, Backend, Interest};
use tenure::model::FencingToken;
use tenure_testkit::servers::Redis;

use crate::support::{
    self, Waiter, bid, calls, client, eventually, fresh, long, lose, name, open, shared, win,
};

/// What a client may send beside scripts.
const OTHERS: [&str; 7] = [
    "ping",
    "subscribe",
    "unsubscribe",
    "eval",
    "script|load",
    "hello",
    "select",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uncontended_take_and_free_are_one_command_each() {
    let server = Redis::start().unwrap();
    let coordinator = Coordinator::connect(support::url(&server)).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    lock.acquire().await.unwrap().release().await.unwrap();
    let others = || OTHERS.map(|command| calls(&server, command));
    let before = others();
    for _ in 0..10 {
        let scripts = calls(&server, "evalsha");
        let guard = lock.acquire().await.unwrap();
        assert_eq!(calls(&server, "evalsha"), scripts + 1, "the take");
        guard.release().await.unwrap();
        assert_eq!(calls(&server, "evalsha"), scripts + 2, "the release");
    }
    assert_eq!(before, others(), "nothing else was sent: {OTHERS:?}");
    coordinator.close().await.unwrap();
}

/// How many commands the server has run, those inside scripts among them, but
/// not the scripts themselves nor what the tests ask.
fn commands(server: &Redis) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).unwrap();
    let counted = stats.lines().filter_map(|line| {
        let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let ours = !matches!(command, "info" | "evalsha" | "ping");
        ours.then(|| rest.split(',').next()?.parse::<u64>().ok())?
    });
    counted.sum()
}

/// With the first grant, and every thousand seconds, the fence's end is written, by
/// one call more.
fn spell(token: FencingToken) -> u64 {
    token.store() / 1_000_000_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_free_mutex_is_taken_by_four_calls_and_freed_by_four() {
    let server = Redis::start().unwrap();
    let coordinator = Coordinator::connect(support::url(&server)).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let (mut last, mut usual) = (None, 0);
    for round in 0..50 {
        let (before, times) = (commands(&server), calls(&server, "time"));
        let guard = lock.acquire().await.unwrap();
        let (taken, times) = (commands(&server), calls(&server, "time") - times);
        let token = guard.token().unwrap();
        guard.release().await.unwrap();
        let freed = commands(&server);
        // Once a second the server is asked for the time. With the first grant it
        // writes the fence a second time.
        let more = times + u64::from(last.is_none()) + u64::from(last != Some(spell(token)));
        assert!(
            taken - before <= 4 + more,
            "{}, round {round}",
            taken - before
        );
        assert!(freed - taken <= 4, "{}, round {round}", freed - taken);
        usual += u64::from(taken - before == 4);
        last = Some(spell(token));
    }
    assert!(usual > 0, "the clock is reckoned");
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_id_that_others_may_have_it_is_six_and_five() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let mutex = name("m");
    let mut last = None;
    for round in 0..20 {
        let before = commands(&server);
        let held = win(&client, &bid(&mutex, "a", long())).await;
        let taken = commands(&server);
        assert!(client.release(&held).await.unwrap().is_won());
        let freed = commands(&server);
        let moved = last != Some(spell(held.token));
        assert!(taken - before <= 6 + u64::from(moved), "{}", taken - before);
        assert!(freed - taken <= 5, "{}, round {round}", freed - taken);
        last = Some(spell(held.token));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_the_only_waiter_it_goes_by_ten_calls_and_nine() {
    let server = Redis::start().unwrap();
    // A waiter that is told has as long as it takes to come.
    let url = format!("{}?reserve=15s", support::url(&server));
    let (owner, other) = (open(&url).await, open(&url).await);
    // With ids that others may have, too, two more to take.
    for (mutex, unique_id, [to_free, to_take]) in [("m", true, [10, 9]), ("n", false, [10, 11])] {
        let mutex = name(mutex);
        let bid = |id: &str| {
            let mut bid = bid(&mutex, id, long());
            bid.unique_id = unique_id;
            bid
        };
        let held = win(&owner, &bid("owner")).await;
        let mut waiter = Waiter::stand(&other, bid("waiter")).await;
        let before = commands(&server);
        assert!(owner.release(&held).await.unwrap().is_won());
        let freed = commands(&server);
        let next = waiter.win(&other).await;
        let taken = commands(&server);
        assert!(next.token > held.token);
        assert!(freed - before <= to_free, "{} to free", freed - before);
        // One more where the fence's end is moved meanwhile.
        assert!(taken - freed <= to_take + 1, "{} to take", taken - freed);
        // Of what was kept for it, and of its place, nothing is left.
        let keys =
            ["", ":contender", ":kept", ":seen"].map(|end| format!("simba:{{{mutex}}}{end}"));
        let left = keys
            .each_ref()
            .map(|key| server.command(&["EXISTS", key]).unwrap());
        assert_eq!(left, ["1", "0", "0", "0"]);
        assert!(other.release(&next).await.unwrap().is_won());
    }
}

/// A call is moved into its box when it is made: what it may do in rare cases
/// must not make it large.
#[tokio::test]
async fn the_future_of_a_call_is_small() {
    let client = client(shared()).await;
    let bid = bid(&fresh("small"), "a", long());
    let held = win(&client, &bid).await;
    let taking = size_of_val(&client.acquire(&bid));
    let freeing = size_of_val(&client.release(&held));
    println!("{taking} and {freeing} bytes");
    assert!(taking <= 2_000 && freeing <= 1_100, "{taking}, {freeing}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fence_of_a_mutex_in_use_lives_on() {
    let client = client(shared()).await;
    let mutex = fresh("lives-on");
    let fence = format!("simba:{{{mutex}}}:fence");
    let ask = |words: &[&str]| shared().command(words).unwrap();
    let cycle = async || {
        let held = win(&client, &bid(&mutex, "a", long())).await;
        assert!(client.release(&held).await.unwrap().is_won());
        held.token.store()
    };
    let left = || ask(&["TTL", &fence]).parse::<i64>().unwrap();
    let first = cycle().await;
    // As it is six days after a grant.
    let old = (first - 6 * 86_400_000_000).to_string();
    ask(&["SET", &fence, &old, "EX", "86400"]);
    let second = cycle().await;
    assert!(second > first);
    assert!((604_000..=604_800).contains(&left()), "{}", left());
    // The clock is behind an earlier grant: tokens go on from there.
    let ahead = second + 3_600_000_000;
    ask(&["SET", &fence, &ahead.to_string(), "EX", "86400"]);
    assert_eq!(cycle().await, ahead + 1);
    assert!((604_000..=604_800).contains(&left()), "{}", left());
    assert_eq!(cycle().await, ahead + 2);
    assert_eq!(ask(&["GET", &fence]), (ahead + 2).to_string());
    // One of few digits is small, and so is one that is none.
    for few in ["7", "", "no number at all"] {
        ask(&["SET", &fence, few, "EX", "1000"]);
        let next = cycle().await;
        assert!((second..ahead).contains(&next), "{next} after {few:?}");
        assert_eq!(ask(&["GET", &fence]), next.to_string());
        assert!((604_000..=604_800).contains(&left()), "{}", left());
    }
    // The bidder has seen a token that is ahead of the clock, or as large.
    let now = cycle().await;
    for seen in [now + 3_600_000_000, now + 3_600_000_001] {
        let mut mine = bid(&mutex, "a", long());
        mine.seen = Some(tenure::model::FencingToken::from_store(seen).unwrap());
        let held = win(&client, &mine).await;
        assert_eq!(held.token.store(), seen + 1);
        assert!(client.release(&held).await.unwrap().is_won());
    }
    // One that no take can go on from is left as it is.
    let end = ((1_u64 << 53) - 1).to_string();
    ask(&["SET", &fence, &end, "EX", "1000"]);
    let error = client.acquire(&bid(&mutex, "a", long())).await.unwrap_err();
    assert_eq!(error.kind(), tenure::ErrorKind::Conflict, "{error:?}");
    assert_eq!(ask(&["GET", &fence]), end);
    assert!((900..=1000).contains(&left()), "{}", left());
    let owner = format!("simba:{{{mutex}}}");
    assert_eq!(ask(&["EXISTS", &owner]), "0", "and nobody owns");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_contender_sends_nothing_but_its_safety_look() {
    let server = Redis::start().unwrap();
    let owner = client(&server).await;
    win(&owner, &bid(&name("m"), "owner", long())).await;
    let coordinator = Coordinator::connect(support::url(&server)).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    // The first attempt, and the one after it has begun to listen.
    eventually("both attempts", async || {
        (calls(&server, "evalsha") >= 3).then_some(())
    })
    .await;
    let before = calls(&server, "evalsha");
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let looks = calls(&server, "evalsha") - before;
    assert!((1..=2).contains(&looks), "{looks} looks in 3.5 s");
    assert_eq!(calls(&server, "subscribe"), 1);
    waiting.abort();
}

/// How many scripts and messages a hand-over costs with so many waiters, each
/// in a client of its own.
async fn hand_over_costs(waiters: usize) -> (u64, u64) {
    const HAND_OVERS: u64 = 4;
    let server = Redis::builder().set("maxclients", "4000").start().unwrap();
    // A waiter that is told has as long as it takes to come: only the costs are counted.
    let url = format!("{}?reserve=15s", support::url(&server));
    let owner = open(&url).await;
    let mutex = name("m");
    let mut held = win(&owner, &bid(&mutex, "owner", long())).await;
    let (told, mut winners) = tokio::sync::mpsc::unbounded_channel();
    // They stand in line soon after each other: who has not looked for long is
    // taken out of it, and these look only when they are told.
    let mut clients = Vec::with_capacity(waiters);
    for _ in 0..waiters {
        clients.push(open(&url).await);
    }
    for (number, waiting) in clients.into_iter().enumerate() {
        let bid = bid(&mutex, &format!("w{number:03}"), long());
        let mut waiter = Waiter::stand(&waiting, bid).await;
        let told = told.clone();
        tokio::spawn(async move {
            // The first stands for as long as it takes all others to come.
            let held = waiter.win_within(support::PATIENCE * 20, &waiting).await;
            let _ = told.send((held, number));
            std::future::pending::<()>().await;
            drop(waiting);
        });
    }
    let count = || (calls(&server, "evalsha"), calls(&server, "publish"));
    let before = count();
    let hand_overs = HAND_OVERS.min(waiters as u64);
    for turn in 0..hand_overs {
        assert!(owner.release(&held).await.unwrap().is_won());
        let (next, number) = winners.recv().await.unwrap();
        assert_eq!(number as u64, turn, "first come, first served");
        held = next;
    }
    // A waiter that was told for nothing has looked by then.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let after = count();
    (
        (after.0 - before.0).div_ceil(hand_overs),
        (after.1 - before.1).div_ceil(hand_overs),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_costs_the_same_however_many_wait() {
    let (few, few_messages) = hand_over_costs(2).await;
    let (many, many_messages) = hand_over_costs(200).await;
    // The release, the take, and the look of the one who stands by.
    assert!(few <= 3 && many <= 3, "{few} and {many} scripts");
    // To the next, to the one behind it, and that it has acquired.
    assert!(
        few_messages <= 3 && many_messages <= 3,
        "{few_messages} and {many_messages}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_mutexes_need_two_connections() {
    const HALF: usize = 5_000;
    let server = Redis::start().unwrap();
    let other = client(&server).await;
    let here = client(&server).await;
    let connected = || {
        let info = server.command(&["INFO", "clients"]).unwrap();
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("connected_clients:"));
        line.and_then(|number| number.parse::<usize>().ok())
            .unwrap()
    };
    let before = connected();
    let mut work = tokio::task::JoinSet::new();
    for part in 0..20 {
        let (here, other) = (here.clone(), other.clone());
        work.spawn(async move {
            let (mut held, mut streams) = (Vec::new(), Vec::new());
            for number in (part * HALF / 20)..((part + 1) * HALF / 20) {
                let mine = bid(&name(&format!("held-{number}")), "a", long());
                held.push(win(&here, &mine).await);
                let wanted = bid(&name(&format!("wanted-{number}")), "b", long());
                win(&other, &bid(&wanted.name, "owner", long())).await;
                streams.push(here.changes(&Interest::in_turn(&wanted)));
                lose(&here, &wanted).await;
            }
            (held, streams)
        });
    }
    let (held, streams): (Vec<_>, Vec<_>) = work.join_all().await.into_iter().unzip();
    let held: Vec<_> = held.into_iter().flatten().collect();
    let scripts = calls(&server, "evalsha");
    let renewed = here.renew(&held).await;
    assert!(
        renewed
            .iter()
            .all(|answer| answer.as_ref().is_ok_and(Answer::is_won))
    );
    assert_eq!(calls(&server, "evalsha") - scripts, 25, "200 in a batch");
    assert!(connected() <= before + 1, "one more, for the wake-ups");
    let subscribed = server.command(&["PUBSUB", "CHANNELS", "simba:*"]).unwrap();
    assert_eq!(subscribed.lines().count(), HALF);
    drop(streams);
    eventually("nobody listens any more", async || {
        let channels = server.command(&["PUBSUB", "CHANNELS", "simba:*"]).unwrap();
        channels.trim().is_empty().then_some(())
    })
    .await;
}
