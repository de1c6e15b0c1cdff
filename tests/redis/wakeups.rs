//! Wake-ups that must not get lost on our own side of the wire.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Interest};
use tenure::model::MutexOwner;

use crate::support::{Waiter, bid, client, fresh, long, lose, shared, win};

/// How often a millisecond may end at the wrong moment: about once in a
/// thousand looks, where that matters.
const LOOKS: usize = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_place_is_known_whenever_the_clock_ticks() {
    let here = client(shared()).await;
    let mutex = fresh("kept");
    let key = format!("simba:{{{mutex}}}");
    // As a release leaves it, only for longer: both end at the same moment.
    let end = shared().command(&["TIME"]).unwrap();
    let end = end.lines().next().unwrap().parse::<u64>().unwrap() + 600;
    for key in [key.clone(), format!("{key}:kept")] {
        shared().command(&["SET", &key, "told"]).unwrap();
        let at = end.to_string();
        shared().command(&["EXPIREAT", &key, &at]).unwrap();
    }
    let mut looks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (here, mutex) = (here.clone(), mutex.clone());
        looks.spawn(async move {
            for _ in 0..LOOKS / 20 {
                let answer = here.owner(&mutex).await.unwrap();
                assert_eq!(*answer.owner(), MutexOwner::NONE, "it is kept, not owned");
            }
        });
    }
    looks.join_all().await;
    // The waiter that was told turns it into a grant.
    win(&here, &bid(&mutex, "told", long())).await;
}

#[tokio::test]
async fn a_stream_that_is_opened_again_at_once_is_heard() {
    let (owner, there) = (client(shared()).await, client(shared()).await);
    let mutex = fresh("again");
    let mut held = win(&owner, &bid(&mutex, "owner", long())).await;
    let mut slow = 0;
    // How far its predecessor gets before it is dropped, and how far its end
    // gets before the next one is there, in turns of this one thread.
    let turns = [0, 1, 2, 3, 5, 8, 13];
    for before in turns {
        for between in turns {
            let mut waiter = Waiter::stand(&there, bid(&mutex, "waiter", long())).await;
            for _ in 0..3 {
                waiter.hints = there.changes(&Interest::in_turn(&waiter.bid));
                yields(before).await;
                drop(std::mem::replace(
                    &mut waiter.hints,
                    tenure::backend::Hints::silent(),
                ));
                yields(between).await;
            }
            waiter.hints = there.changes(&Interest::in_turn(&waiter.bid));
            let asked = Instant::now();
            lose(&there, &waiter.bid).await;
            slow += usize::from(asked.elapsed() > Duration::from_millis(900));
            // By that hint alone: the waiter does not look without one.
            assert!(owner.release(&held).await.unwrap().is_won());
            let next = waiter.win(&there).await;
            assert!(there.release(&next).await.unwrap().is_won());
            held = win(&owner, &bid(&mutex, "owner", long())).await;
        }
    }
    // Who never learns of its subscription goes on without it after a second.
    assert!(slow < 4, "{slow} of 49 were held up");
}

async fn yields(number: usize) {
    for _ in 0..number {
        tokio::task::yield_now().await;
    }
}
