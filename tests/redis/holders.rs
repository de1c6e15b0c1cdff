//! Holders that are not there, and holders that are asked to end.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tenure::backend::Backend as _;
use tenure::model::LeaseTerms;
use tenure::{Campaign, CampaignEvent, Coordinator, Leadership};
use tenure_testkit::servers::Redis;

use crate::support::{PATIENCE, bid, long, name, open, url, win};

async fn process(server: &Redis, seconds: u64) -> Coordinator {
    let second = Duration::from_secs(1);
    let terms = LeaseTerms::new(second * seconds as u32, second).unwrap();
    let builder = Coordinator::builder().terms(terms);
    builder.connect(url(server)).await.unwrap()
}

async fn elected(campaign: &mut Campaign) -> Leadership {
    let elected = async {
        loop {
            if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
                return office;
            }
        }
    };
    tokio::time::timeout(PATIENCE, elected)
        .await
        .expect("elected")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_future_that_nobody_polls_does_not_stop_the_fleet() {
    let server = Redis::start().unwrap();
    let (ours, theirs) = (process(&server, 2).await, process(&server, 2).await);
    let lock = ours.lock("m").unwrap();
    let acquire = loop {
        let mut acquire = Box::pin(lock.acquire());
        let mut nobody = Context::from_waker(Waker::noop());
        match acquire.as_mut().poll(&mut nobody) {
            Poll::Pending => break acquire,
            // This thread stood still in the poll, and the answer was there.
            Poll::Ready(guard) => guard.unwrap().release().await.unwrap(),
        }
    };
    // In the store it is ours, though no lock here knows.
    let other = theirs.lock("m").unwrap();
    while other.owner().await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let guard = other.acquire_within(PATIENCE).await.unwrap();
    let guard = guard.expect("what nobody picks up goes back");
    let token = guard.token().unwrap();
    guard.release().await.unwrap();
    let late = tokio::time::timeout(PATIENCE, acquire).await;
    let late = late.expect("it contends again").unwrap();
    assert!(late.token().unwrap() > token);
    late.release().await.unwrap();
}

/// How long it takes from a leader's shutdown to the next one's election.
async fn hand_over(server: &Redis) -> Duration {
    let (ours, theirs) = (process(server, 20).await, process(server, 20).await);
    let office = elected(&mut ours.elector("m").unwrap().campaign().unwrap()).await;
    let token = office.tenure().token().unwrap();
    let worker = tokio::spawn(async move {
        // Its own task, its own loop: it hears of the end from the tenure.
        office.tenure().ending().await;
        office.tenure().token().is_ok()
    });
    let mut next = theirs.elector("m").unwrap().campaign().unwrap();
    let observed =
        async { while !matches!(next.next().await, Some(CampaignEvent::Observed(_))) {} };
    tokio::time::timeout(PATIENCE, observed).await.unwrap();
    let begin = Instant::now();
    let (closed, heir) = tokio::join!(ours.close(), elected(&mut next));
    let took = begin.elapsed();
    closed.unwrap();
    assert!(heir.tenure().token().unwrap() > token);
    assert!(worker.await.unwrap(), "it was told before it had lost");
    drop((heir, next));
    theirs.close().await.unwrap();
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_shuts_down_hands_over_at_once() {
    let server = Redis::start().unwrap();
    // A few round trips. The lease is 21 s, the quiesce 30 s: a test that waits
    // for either is far from this.
    let took = hand_over(&server).await;
    println!("handed over in {took:?}");
    assert!(took < Duration::from_secs(5), "handed over in {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_at_shutdown_takes_less_than_a_tenth_of_a_second() {
    let server = Redis::start().unwrap();
    // Whatever else the machine does, it is left alone once in so many times.
    let mut times = Vec::new();
    for _ in 0..30 {
        times.push(hand_over(&server).await);
        if times.last() < Some(&Duration::from_millis(100)) {
            return;
        }
    }
    panic!("never: {times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_grant_and_a_newer_one_in_the_same_renewal_are_told_apart() {
    let server = Redis::start().unwrap();
    let client = open(&url(&server)).await;
    let mutex = name("m");
    let lost = win(&client, &bid(&mutex, "twin", long())).await;
    server.command(&["FLUSHALL"]).unwrap();
    // The same id: only the grant tells them apart.
    let newer = win(&client, &bid(&mutex, "twin", long())).await;
    let both = [lost.clone(), newer.clone(), lost, newer];
    let answers = client.renew(&both).await;
    let won = answers.iter().map(|it| it.as_ref().unwrap().is_won());
    assert_eq!(won.collect::<Vec<_>>(), [false, true, false, true]);
}
