//! One id, many bidders: never two owners.
//!
//! A process that was forked without exec is not among them: `fork` is `unsafe`
//! in every library of Rust, a test binary has threads when it comes to it, and
//! what another program forks is not ours. What a fork would have is a copy of
//! the random numbers and of the tenure: `src/lock/ids.rs` and
//! `src/engine/birth.rs` are tested as if in one.

use std::time::Duration;

use tenure::Coordinator;
use tenure::leader::CampaignEvent;
use tenure::model::{ContenderId, ContenderIdGenerator};
use tenure_testkit::peer::Peer;

use crate::SERVER;

const SOON: Duration = Duration::from_secs(60);

/// Makes the same id again and again, as a constant or a host name would.
#[derive(Debug)]
struct Constant;

impl ContenderIdGenerator for Constant {
    fn generate(&self) -> tenure::Result<ContenderId> {
        ContenderId::new("the-same")
    }
}

async fn coordinator() -> Coordinator {
    let builder = Coordinator::builder().ids(Constant);
    builder.connect(SERVER.url()).await.unwrap()
}

#[test]
fn two_processes_with_a_constant_id_do_not_both_own() {
    let peer = || {
        let peer = Peer::contending(&SERVER.url(), "constant-id").id("the-same");
        peer.option("--try-lock", "1").spawn()
    };
    let mut first = peer();
    let token = first.wait_acquired(SOON).token;
    let mut second = peer();
    second.wait_line(SOON, "tried");
    let said: Vec<_> = second.said().to_vec();
    assert!(
        said.iter().any(|line| line == "refused"),
        "the first owns with {token}, the second: {said:?}"
    );
    first.quit(SOON);
    let mut third = peer();
    assert!(third.wait_acquired(SOON).token > token);
}

#[tokio::test]
async fn two_coordinators_with_a_constant_id_do_not_both_own() {
    let (here, there) = (coordinator().await, coordinator().await);
    let (ours, theirs) = (here.lock("one-id").unwrap(), there.lock("one-id").unwrap());
    let guard = ours.try_acquire().await.unwrap().expect("it is free");
    for _ in 0..3 {
        let twin = theirs.try_acquire().await.unwrap();
        assert!(
            twin.is_none(),
            "both own: {:?}",
            twin.map(|twin| twin.token())
        );
    }
    guard.token().unwrap();
    guard.release().await.unwrap();
    let twin = theirs.try_acquire().await.unwrap();
    twin.expect("free again").release().await.unwrap();
}

#[tokio::test]
async fn two_threads_with_a_constant_id_do_not_both_own() {
    let hold = |name: &'static str| {
        let thread = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let coordinator = coordinator().await;
                let guard = coordinator.lock(name).unwrap().try_acquire().await.unwrap();
                let token = guard.as_ref().map(|guard| guard.token().unwrap());
                // Not released: the lease outlives the test.
                std::mem::forget(guard);
                token
            })
        };
        std::thread::spawn(thread)
    };
    let threads: Vec<_> = (0..4).map(|_| hold("one-id-threads")).collect();
    let tokens = threads
        .into_iter()
        .filter_map(|thread| thread.join().unwrap());
    assert_eq!(tokens.count(), 1);
}

#[tokio::test]
async fn two_electors_with_a_constant_id_do_not_both_lead() {
    let (here, there) = (coordinator().await, coordinator().await);
    let mut first = here.elector("one-id-led").unwrap().campaign().unwrap();
    let leads = |event: Option<CampaignEvent>| match event {
        Some(CampaignEvent::Elected(leadership)) => Some(leadership),
        _ => None,
    };
    let leadership = loop {
        if let Some(leadership) = leads(first.next().await) {
            break leadership;
        }
    };
    let mut second = there.elector("one-id-led").unwrap().campaign().unwrap();
    let wait = Duration::from_secs(2);
    while let Ok(event) = tokio::time::timeout(wait, second.next()).await {
        let twin = leads(event);
        assert!(twin.is_none(), "{leadership:?} and {twin:?}");
    }
    leadership.tenure().token().unwrap();
}

#[test]
fn two_processes_that_are_given_the_same_chance_do_not_both_own() {
    tenure_testkit::every_store::same_chance::one_of_two_owns(&SERVER.url());
}
