//! The end of a lease that its owner does not free.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Interest};

use crate::SERVER;
use crate::support::{bid, client, terms, win};

/// Longer than anything here takes on a machine that is busy.
const SOON: Duration = Duration::from_secs(60);

const LEASE: Duration = Duration::from_millis(1000);

#[tokio::test]
async fn a_waiter_is_told_when_the_lease_of_a_dead_owner_is_over() {
    let (here, there) = (
        client(&SERVER.url()).await.unwrap(),
        client(&SERVER.url()).await.unwrap(),
    );
    for (round, renewed) in [false, true, false].into_iter().enumerate() {
        let mut dead = bid("dead-owner", "dead");
        dead.terms = terms(600, 400);
        let began = Instant::now();
        let held = win(&here, &dead).await;
        let waiter = bid("dead-owner", "waiter");
        assert!(!there.acquire(&waiter).await.unwrap().is_won());
        let mut hints = there.changes(&Interest::in_turn(&waiter));
        // As the engine does after it has subscribed.
        assert!(!there.acquire(&waiter).await.unwrap().is_won());
        if renewed {
            tokio::time::sleep(LEASE / 2).await;
            let renewed = here.renew(std::slice::from_ref(&held)).await.remove(0);
            assert!(renewed.unwrap().is_won());
        }
        // It asks when it is told, and not otherwise.
        let won = tokio::time::timeout(SOON, async {
            loop {
                hints.next().await.expect("open");
                let answer = there.acquire(&waiter).await.unwrap();
                if let Some(token) = answer.token().filter(|_| answer.is_won()) {
                    return waiter.held(token);
                }
            }
        });
        let won = won
            .await
            .unwrap_or_else(|_| panic!("round {round}: nobody told it"));
        let least = if renewed { LEASE * 3 / 2 } else { LEASE };
        assert!(began.elapsed() >= least, "round {round}: too early");
        assert!(there.release(&won).await.unwrap().is_won());
    }
}
