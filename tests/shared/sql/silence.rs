//! No operation holds a row across a round trip: whichever of its messages is
//! the last that the server hears, others go on.

use std::time::Duration;

use tenure::backend::{AnyBackend, Backend, Bid, Claim, ClaimAnswer, Held, Page, Prune, TickEnd};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::Proxy;

use crate::Server;
use crate::dialect::{self, Watcher};
use crate::support::{bid, client, through, until, win};

/// Far above what anything here takes, far below how long servers keep a
/// session that says nothing.
const BOUND: Duration = Duration::from_secs(10);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Every call of the store, in each of its ways.
const OPERATIONS: [&str; 25] = [
    "take",
    "first-use",
    "refused",
    "renew",
    "renew-many",
    "release",
    "leave",
    "owner",
    "list",
    "list-named",
    "prune",
    "prune-schedules",
    "revoke",
    "revoke-token",
    "mend",
    "check",
    "read",
    "list-ledgers",
    "plan",
    "claim-first",
    "claim",
    "claim-again",
    "claim-replacing",
    "claim-refused",
    "finish",
];

fn claim(tick: u64) -> Claim {
    Claim::new("plan", Default::default(), tick, Default::default())
}

/// One operation, and what it needs to find.
struct Scene {
    operation: &'static str,
    mine: Bid,
    held: Option<Held>,
    company: Vec<Held>,
}

impl Scene {
    async fn set(
        operation: &'static str,
        round: u64,
        server: &Server,
        direct: &AnyBackend,
    ) -> Self {
        let mine = bid(&format!("{operation}-{round}"), "a");
        let mut held = None;
        let mut company = Vec::new();
        match operation {
            "first-use" => {}
            "take" | "prune" | "prune-schedules" | "claim-again" => {
                let before = win(direct, &bid(mine.name.as_str(), "before")).await;
                if operation != "take" {
                    let claimed = direct.claim_tick(&before, &claim(1)).await.unwrap();
                    assert_eq!(claimed, ClaimAnswer::Claimed);
                }
                assert!(direct.release(&before).await.unwrap().is_won());
                if operation == "claim-again" {
                    held = Some(win(direct, &mine).await);
                }
            }
            _ => held = Some(win(direct, &mine).await),
        }
        if operation == "renew-many" {
            // More than one segment of the network carries.
            for number in 0..60 {
                let other = bid(&format!("{operation}-{round}-{number}"), "a");
                company.push(win(direct, &other).await);
            }
        }
        let is_claimed = [
            "claim",
            "claim-replacing",
            "claim-refused",
            "finish",
            "read",
        ];
        if is_claimed.contains(&operation) {
            let held = held.as_ref().unwrap();
            let claimed = direct.claim_tick(held, &claim(1)).await.unwrap();
            assert_eq!(claimed, ClaimAnswer::Claimed);
        }
        let name = &mine.name;
        if operation.starts_with("prune") {
            // As if it had been used long ago.
            let mutex = format!("UPDATE simba_mutex SET version = 3 WHERE mutex = '{name}'");
            let ledger = format!("UPDATE tenure_schedule SET token = 1024 WHERE name = '{name}'");
            server.sql(&format!("{mutex}; {ledger}")).unwrap();
        }
        if operation == "mend" {
            let damage = dialect::DAMAGE;
            let sql = format!("UPDATE simba_mutex SET {damage} WHERE mutex = '{name}'");
            server.sql(&sql).unwrap();
        }
        Self {
            operation,
            mine,
            held,
            company,
        }
    }

    async fn play(self, store: AnyBackend) {
        let held = || self.held.clone().unwrap();
        match self.operation {
            "take" | "first-use" => assert!(store.acquire(&self.mine).await.unwrap().is_won()),
            "refused" => {
                let other = bid(self.mine.name.as_str(), "b");
                assert!(!store.acquire(&other).await.unwrap().is_won());
            }
            "renew" | "renew-many" => {
                let all = [vec![held()], self.company.clone()].concat();
                for answer in store.renew(&all).await {
                    assert!(answer.unwrap().is_won());
                }
            }
            "release" => assert!(store.release(&held()).await.unwrap().is_won()),
            "leave" => store.leave(&self.mine).await.unwrap(),
            "owner" => drop(store.owner(&self.mine.name).await.unwrap()),
            "list" => drop(store.list(&Page::first(10)).await.unwrap()),
            "list-named" => {
                let named = Page::of([self.mine.name.clone()]);
                assert_eq!(store.list(&named).await.unwrap().entries.len(), 1);
            }
            "prune" => {
                let pruned = store.prune(&Prune::unused_for(DAY)).await.unwrap();
                assert_eq!((pruned.mutexes, pruned.schedules), (1, 0));
            }
            "prune-schedules" => {
                let prune = Prune::unused_for(DAY).with_schedules();
                let pruned = store.prune(&prune).await.unwrap();
                assert_eq!(pruned.schedules, 1);
            }
            "revoke" | "mend" => {
                let revoked = store.revoke(&self.mine.name, None).await.unwrap();
                assert!(revoked.is_won());
            }
            "revoke-token" => {
                let token = Some(held().token);
                let revoked = store.revoke(&self.mine.name, token).await.unwrap();
                assert!(revoked.is_won());
            }
            "check" => drop(store.check().await),
            "read" => drop(store.read_ledger(&self.mine.name).await.unwrap()),
            "list-ledgers" => drop(store.list_ledgers(&Page::first(10)).await.unwrap()),
            "claim-refused" => {
                let refused = store.claim_tick(&held(), &claim(1)).await.unwrap();
                assert!(matches!(refused, ClaimAnswer::Refused(_)), "{refused:?}");
            }
            "plan" | "claim-first" | "claim" | "claim-again" | "claim-replacing" => {
                let claim = match self.operation {
                    "plan" => claim(2).only_plan(),
                    "claim-again" => claim(1).again(),
                    "claim-replacing" => {
                        let (at, other) = (Default::default(), "another plan");
                        Claim::new(other, at, 2, at).replacing_plan()
                    }
                    _ => claim(2),
                };
                let claimed = store.claim_tick(&held(), &claim).await.unwrap();
                assert_eq!(claimed, ClaimAnswer::Claimed);
            }
            "finish" => drop(store.finish_tick(&held(), &TickEnd::new(1, true)).await),
            other => unreachable!("{other}"),
        }
    }
}

/// Everything that another can do to the row.
async fn others_go_on(direct: &AnyBackend, mutex: &str) -> tenure::Result<bool> {
    let heir = bid(mutex, "heir");
    let mut token = None;
    // The server may come to the message only now, and grant it what is free.
    for _ in 0..3 {
        direct.revoke(&mutex.parse()?, None).await?;
        token = direct.acquire(&heir).await?.token();
        if token.is_some() {
            break;
        }
    }
    let Some(token) = token else {
        return Ok(false);
    };
    let held = heir.held(token);
    let renewed = crate::support::renew(direct, &held).await?.is_won();
    let claim = claim(9).replacing_plan();
    let claimed = direct.claim_tick(&held, &claim).await? == ClaimAnswer::Claimed;
    let ended = direct.finish_tick(&held, &TickEnd::new(9, true)).await?;
    Ok(renewed && claimed && ended && direct.release(&held).await?.is_won())
}

/// Runs `work` through `proxy` until its `messages`-th message, then silence.
/// Whether it came so far.
async fn cut_off(
    proxy: &Proxy,
    messages: u64,
    watcher: &mut Watcher,
    work: impl Future<Output = ()> + Send + 'static,
) -> Option<tokio::task::JoinHandle<()>> {
    proxy.partition_after(messages);
    let mut work = tokio::spawn(work);
    let mut done = false;
    while !proxy.is_holding() {
        let more = Duration::from_millis(2);
        if let Ok(ended) = tokio::time::timeout(more, &mut work).await {
            ended.expect("it works while the network does");
            done = true;
            break;
        }
    }
    if done && !proxy.is_holding() {
        return None;
    }
    // The server has read the message, has done what it says, and waits.
    until("the server is idle", async || {
        dialect::is_idle(watcher).await.then_some(())
    })
    .await;
    Some(if done { tokio::spawn(async {}) } else { work })
}

/// Whether rows are locked, and not only for the moment: a busy machine's server
/// is idle until it reads the message, and at work after that.
async fn stay_locked(watcher: &mut Watcher) -> bool {
    let freed = async {
        while dialect::locked_rows(watcher).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(BOUND, freed).await.is_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_who_falls_silent_holds_up_another() {
    let server = Server::start().unwrap();
    let direct = client(&server.url()).await.unwrap();
    let mut watcher = dialect::watcher(&server).await;
    let mut held_up = Vec::new();
    for operation in OPERATIONS {
        for messages in 1.. {
            let proxy = Proxy::speaking(dialect::SPEECH, server.address()).unwrap();
            let url = format!("{}?connections=1&tls=off", through(&proxy, &server));
            let store = client(&url).await.unwrap();
            let scene = Scene::set(operation, messages, &server, &direct).await;
            let mutex = scene.mine.name.clone();
            let work = scene.play(store.clone());
            let Some(work) = cut_off(&proxy, messages, &mut watcher, work).await else {
                assert!(messages > 1, "{operation} said nothing");
                break;
            };
            let locked = stay_locked(&mut watcher).await;
            let going_on = others_go_on(&direct, mutex.as_str());
            let went_on = tokio::time::timeout(BOUND, going_on).await;
            if locked || !matches!(went_on, Ok(Ok(true))) {
                held_up.push((operation, messages, went_on));
            }
            work.abort();
            proxy.cut().unwrap();
        }
    }
    assert!(held_up.is_empty(), "rows stay locked after {held_up:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_who_falls_silent_while_it_makes_the_tables_holds_up_another() {
    let server = Server::start().unwrap();
    let mut watcher = dialect::watcher(&server).await;
    for messages in 1.. {
        let tables = format!("?table=made_{messages}&schedule_table=also_{messages}&tls=off");
        let proxy = Proxy::speaking(dialect::SPEECH, server.address()).unwrap();
        let url = format!("{}{tables}", through(&proxy, &server));
        let open = async move { drop(client(&url).await.unwrap()) };
        let Some(work) = cut_off(&proxy, messages, &mut watcher, open).await else {
            assert!(messages > 3, "it said nothing");
            break;
        };
        let direct = format!("{}{tables}", server.url());
        let opening = async { others_go_on(&client(&direct).await?, "m").await };
        let opened = tokio::time::timeout(BOUND, opening).await;
        assert!(
            matches!(opened, Ok(Ok(true))),
            "held up after {messages} messages: {opened:?}"
        );
        work.abort();
        proxy.cut().unwrap();
    }
}
