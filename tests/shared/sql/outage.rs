//! The server goes away, for a while.

use std::time::{Duration, Instant};

use tenure::backend::{AnyBackend, Backend};
use tenure::clock::Clock;
use tenure::service::{ContendService, LocalContender};
use tenure::{Coordinator, Outcome, Tenure};
use tenure_testkit::servers::{Proxy, Way};

use crate::support::{bid, client, renew, terms, through, until, win};
use crate::{SERVER, Server, dialect};

struct Standing {
    server: Server,
    coordinator: Coordinator,
    service: ContendService<LocalContender>,
}

impl Standing {
    /// A service that owns, on a server of its own.
    async fn owning(ttl: u64, transition: u64) -> (Self, Tenure) {
        let server = Server::start().unwrap();
        let coordinator = Coordinator::builder().terms(terms(ttl, transition));
        let coordinator = coordinator.connect(&server.url()).await.unwrap();
        let contender = LocalContender::new("m").unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        let standing = Self {
            server,
            coordinator,
            service,
        };
        let tenure = standing.owned().await;
        (standing, tenure)
    }

    async fn owned(&self) -> Tenure {
        until("it owns", async || {
            self.service.tenure().filter(|tenure| !tenure.is_lost())
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_shorter_than_the_window_changes_nothing() {
    let (standing, tenure) = Standing::owning(1_000, 29_000).await;
    let token = tenure.token().unwrap();
    // Killed and started again; then stopped and let go on.
    tokio::task::block_in_place(|| standing.server.restart().unwrap());
    let renewed = async || (tenure.remaining() > Duration::from_secs(28)).then_some(());
    until("it is renewed", renewed).await;
    tokio::task::block_in_place(|| standing.server.pause().unwrap());
    tokio::time::sleep(Duration::from_secs(2)).await;
    tokio::task::block_in_place(|| standing.server.resume().unwrap());
    until("it is renewed again", renewed).await;
    assert_eq!(tenure.token().unwrap(), token, "the same tenure");
    standing.coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_longer_than_the_lease_is_a_loss_in_time_and_a_new_tenure() {
    let (standing, tenure) = Standing::owning(1_500, 1_500).await;
    let token = tenure.token().unwrap();
    tokio::task::block_in_place(|| standing.server.kill().unwrap());
    let gone_at = Instant::now();
    tenure.lost().await;
    let lost_after = gone_at.elapsed();
    assert!(
        lost_after < Duration::from_secs(6),
        "{lost_after:?} after the server went"
    );
    tokio::task::block_in_place(|| standing.server.start().unwrap());
    let next = standing.owned().await;
    assert!(next.token().unwrap() > token);
    standing.coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_confirmed_before_it_was_killed_is_there_afterwards() {
    let server = Server::start().unwrap();
    let url = server.url();
    let churning = client(&url).await.unwrap();
    // Take and release without a pause, until the server dies under it.
    let churn = tokio::spawn(async move {
        let mut confirmed = Vec::new();
        for number in 0.. {
            let mut bid = bid(&format!("m{number}"), "a");
            bid.terms = terms(60_000, 60_000);
            match churning.acquire(&bid).await {
                Ok(answer) => confirmed.push(bid.held(answer.token().unwrap())),
                Err(error) => return (confirmed, bid, error),
            }
        }
        unreachable!()
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    tokio::task::block_in_place(|| server.restart().unwrap());
    let (confirmed, lost, error) = churn.await.unwrap();
    assert!(!confirmed.is_empty());
    let store = client(&url).await.unwrap();
    for answer in store.renew(&confirmed).await {
        assert!(
            answer.unwrap().is_won(),
            "a confirmed grant survives the server"
        );
    }
    // The one that was under way happened or not; its bid finds out.
    let answer = store.acquire(&lost).await.unwrap();
    assert!(answer.is_won(), "{error:?}: {answer:?}");
    store.leave(&lost).await.unwrap();
    assert!(
        store
            .acquire(&bid(lost.name.as_str(), "b"))
            .await
            .unwrap()
            .is_won()
    );
}

#[tokio::test]
async fn a_take_whose_answer_was_lost_can_be_found_and_left() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let store = client(&through(&proxy, &SERVER)).await.unwrap();
    for round in 0..4 {
        let mine = bid(&format!("lost-answer-{round}"), "a");
        // So that nothing but the take itself is sent.
        win(&store, &bid(&format!("lost-answer-warm-{round}"), "a")).await;
        store.leave(&mine).await.unwrap();
        proxy.cut_after(Way::ToClient, 0);
        let error = store.acquire(&mine).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::MayHave, "{error:?}");
        let direct = client(&SERVER.url()).await.unwrap();
        if round % 2 == 0 {
            let seen = direct.owner(&mine.name).await.unwrap();
            let again = store.acquire(&mine).await.unwrap();
            assert!(again.is_won(), "the bid finds its grant: {again:?}");
            if seen.owner().owner_id().is_some() {
                let (first, found) = (seen.owner(), again.owner());
                assert_eq!(
                    found.transition_at(),
                    first.transition_at(),
                    "and what remains of it"
                );
            }
        } else {
            store.leave(&mine).await.unwrap();
            win(&direct, &bid(mine.name.as_str(), "b")).await;
        }
    }
}

/// How long until the store answers again.
async fn recovered(store: &AnyBackend, held: &tenure::backend::Held) -> Duration {
    let began_at = Instant::now();
    until("it answers again", async || {
        let end = Clock::boot().now() + Duration::from_secs(1);
        let answer = Clock::boot().limit(end, renew(store, held)).await;
        matches!(answer, Some(Ok(answer)) if answer.is_won()).then_some(())
    })
    .await;
    began_at.elapsed()
}

#[tokio::test]
async fn a_half_open_connection_is_given_up_and_replaced() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let url = format!("{}?call_timeout=1s", through(&proxy, &SERVER));
    let store = client(&url).await.unwrap();
    let mut mine = bid("half-open", "a");
    mine.terms = terms(60_000, 60_000);
    let held = win(&store, &mine).await;
    // Several connections, all of which die together.
    let calls = (0..4).map(|_| store.clone());
    let mut busy = tokio::task::JoinSet::new();
    for store in calls {
        let held = held.clone();
        busy.spawn(async move { renew(&store, &held).await.unwrap() });
    }
    busy.join_all().await;
    proxy.partition();
    let began_at = Instant::now();
    let error = renew(&store, &held).await.unwrap_err();
    assert!(began_at.elapsed() < Duration::from_secs(10), "{error:?}");
    // The old flows stay dead; new ones pass.
    proxy.cut().unwrap();
    proxy.heal().unwrap();
    let took = recovered(&store, &held).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(store.release(&held).await.unwrap().is_won());
}

/// An asynchronous fail-over: the copy that is promoted has all but the last
/// grant. (Two servers, told the same until then.)
#[tokio::test]
async fn a_copy_that_is_promoted_without_the_last_grant_renews_nothing_of_it() {
    let (old, new) = (Server::start().unwrap(), Server::start().unwrap());
    let before = client(&old.url()).await.unwrap();
    let after = client(&new.url()).await.unwrap();
    for server in [&before, &after] {
        let held = win(server, &bid("m", "earlier")).await;
        assert!(server.release(&held).await.unwrap().is_won());
    }
    let ours = win(&before, &bid("m", "ours")).await;
    // Two own, for the rest of the first one's lease.
    let theirs = win(&after, &bid("m", "theirs")).await;
    if dialect::TOKENS_FOLLOW_THE_CLOCK {
        assert!(theirs.token > ours.token, "{theirs:?} after {ours:?}");
    }
    // No longer: whatever it asks for is refused, also under the same token.
    let renewed = renew(&after, &ours).await.unwrap();
    assert!(!renewed.is_won(), "{renewed:?}");
    assert!(renewed.owner().is_owner(&theirs.contender), "{renewed:?}");
    assert!(!after.release(&ours).await.unwrap().is_won());
    assert!(renew(&after, &theirs).await.unwrap().is_won());
}
