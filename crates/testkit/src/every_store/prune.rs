//! Rows, keys and nodes of mutexes that are not used are removed, and tokens and
//! schedules do not suffer.

use std::time::Duration;

use crate::Whole as _;
use tenure::Coordinator;
use tenure::backend::{Backend, Bid, Claim, ClaimAnswer, Prune};
use tenure::model::{ContenderId, FencingToken, LeaseTerms, MutexName, StoreTime};

fn long() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(60), Duration::from_secs(60)).expect("long enough")
}

async fn take(client: &impl Backend, name: &MutexName) -> tenure::backend::Held {
    let id = ContenderId::new(format!("who-{:08x}", fastrand::u32(..))).expect("an id");
    let bid = Bid::new(name.clone(), id, long()).with_unique_id();
    let answer = client.acquire(&bid).await.expect("a free mutex");
    bid.held(answer.token().unwrap_or_else(|| panic!("{answer:?}")))
}

/// Removes what was not used for `length`; how many mutexes and ledgers.
pub async fn pruned(client: &impl Backend, prune: Prune) -> (u64, u64) {
    let (mut prune, mut sum) = (prune, (0, 0));
    loop {
        let pruned = client.prune(&prune).await.expect("a pruning");
        sum = (sum.0 + pruned.mutexes, sum.1 + pruned.schedules);
        prune.bookmark = pruned.bookmark;
        if prune.bookmark.is_none() {
            return sum;
        }
    }
}

/// Many mutexes, some with a ledger. `age` is longer than the store needs to
/// tell them from new ones. Answers how many were removed.
pub async fn removes_what_is_old(client: &impl Backend, count: usize, age: Duration) -> u64 {
    let names: Vec<_> = (0..count)
        .map(|number| MutexName::new(format!("old-{number:05}")).expect("a name"))
        .collect();
    let mut tokens: Vec<FencingToken> = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let held = take(client, name).await;
        if number % 100 == 0 {
            let at = StoreTime::from_millis(1);
            let claim = Claim::new("plan", at, 7, at);
            let claimed = client.claim_tick(&held, &claim).await.expect("a claim");
            assert_eq!(claimed, ClaimAnswer::Claimed);
        }
        client.release(&held).await.expect("a release");
        tokens.push(held.token);
    }
    let schedules = count.div_ceil(100) as u64;
    let day = Prune::unused_for(Duration::from_secs(24 * 3600));
    let none = pruned(client, day.with_schedules()).await;
    assert_eq!(none, (0, 0), "all of it was used today");
    tokio::time::sleep(age).await;
    let owned = take(client, &names[1]).await;
    let (mutexes, ledgers) = pruned(client, Prune::unused_for(age / 2)).await;
    assert_eq!(ledgers, 0, "unless it is asked for");
    let ledger = client.read_ledger(&names[0]).await.expect("a ledger");
    assert_eq!(ledger.expect("it is kept").last_tick, 7);
    // The schedule goes on, with a larger token.
    let held = take(client, &names[0]).await;
    assert!(
        held.token > tokens[0],
        "{:?} after {:?}",
        held.token,
        tokens[0]
    );
    let at = StoreTime::from_millis(1);
    let again = client
        .claim_tick(&held, &Claim::new("plan", at, 7, at))
        .await;
    assert!(matches!(again, Ok(ClaimAnswer::Refused(_))), "{again:?}");
    let next = client
        .claim_tick(&held, &Claim::new("plan", at, 8, at))
        .await;
    assert_eq!(next.expect("a claim"), ClaimAnswer::Claimed);
    // Not that of an owner, and not one that was used lately.
    let prune = Prune::unused_for(age / 2).with_schedules();
    let (_, ledgers) = pruned(client, prune).await;
    assert_eq!(ledgers, schedules - 1, "all but the one in use");
    assert!(
        client
            .read_ledger(&names[0])
            .await
            .expect("a ledger")
            .is_some()
    );
    client.release(&held).await.expect("a release");
    client.release(&owned).await.expect("it was left alone");
    for (name, token) in names.iter().zip(&tokens).step_by(97) {
        let held = take(client, name).await;
        assert!(held.token > *token, "{:?} after {token:?}", held.token);
        client.release(&held).await.expect("a release");
    }
    mutexes
}

/// A schedule that no process runs is forgotten by request only, and begins anew.
pub async fn works_for_people(coordinator: &Coordinator) {
    let guard = coordinator.lock("m").expect("a name").acquire().await;
    let guard = guard.expect("a lock");
    let hour = Prune::unused_for(Duration::from_secs(3600));
    let pruned = coordinator.prune(&hour).await.expect("a pruning");
    assert_eq!((pruned.mutexes, pruned.schedules), (0, 0));
    guard.release().await.expect("still ours");
}
