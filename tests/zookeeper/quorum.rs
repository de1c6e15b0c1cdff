//! A follower that has lost the quorum, and members that die.

use std::time::Duration;

use tenure::clock::{Clock, Moment};
use tenure::service::{ContendService, LocalContender};
use tenure_testkit::servers::ZooKeeperEnsemble;

use crate::support::{coordinator, name, until};

/// One hand-over because the owner's server lost the quorum: for how long
/// it was free, in parts of the session timeout.
async fn severed(ensemble: &ZooKeeperEnsemble, timeout: &str, millis: u32) -> f64 {
    for _ in 0..10 {
        if let Some(idle) = try_severed(ensemble, timeout, millis).await {
            return idle;
        }
    }
    panic!("the machine is too slow for a session of {timeout}");
}

/// `None` when the machine was too slow to keep the session until the cut.
async fn try_severed(ensemble: &ZooKeeperEnsemble, timeout: &str, millis: u32) -> Option<f64> {
    let name = name("severed");
    let clock = Clock::boot();
    let last = &ensemble.members()[2];
    let here = coordinator(last.address(), timeout).await;
    let others = format!(
        "{},{}",
        ensemble.members()[0].address(),
        ensemble.members()[1].address()
    );
    let there = coordinator(others, timeout).await;
    let service = |coordinator: &tenure::Coordinator| {
        let contender = LocalContender::new(&name).unwrap();
        coordinator.contend_service(contender).unwrap()
    };
    let (ours, rival): (ContendService<_>, ContendService<_>) = (service(&here), service(&there));
    ours.start().unwrap();
    until("ours leads", || ours.is_owner()).await;
    let tenure = ours.tenure().unwrap();
    rival.start().unwrap();
    until("the rival waits", || {
        rival.state().after.owner_id().is_some()
    })
    .await;
    // Renewed a few times, and cut at some point in between.
    let phase = fastrand::u32(0..millis);
    tokio::time::sleep(Duration::from_millis(u64::from(millis / 2 + phase))).await;
    if tenure.is_lost() {
        here.close().await.unwrap();
        there.close().await.unwrap();
        return None;
    }

    let lost = tokio::spawn({
        let (tenure, clock) = (tenure.clone(), clock.clone());
        async move {
            tenure.lost().await;
            clock.now()
        }
    });
    let follows = last.mode().unwrap() == "follower";
    ensemble.sever().unwrap();
    until("the rival leads", || rival.is_owner()).await;
    let won = clock.now();
    assert!(tenure.is_lost(), "two valid tenures");
    if follows {
        // Yet the follower answers: pings and reads prove nothing.
        let answer = last.word_within("srvr", Duration::from_secs(1));
        let answer = answer.unwrap_or_else(|error| error.to_string());
        assert!(answer.contains("Mode: follower"), "{answer}");
    }
    let lost: Moment = lost.await.unwrap();
    let idle = won.since(lost);
    let token = tenure.token().unwrap_err().token;
    assert!(Some(rival.tenure().unwrap().token().unwrap()) > token);

    // One who led takes long to come back, and each has an ensemble of its own.
    if follows {
        ensemble.rejoin().unwrap();
        rival.stop().await.unwrap();
        until("ours leads again, in a new session", || ours.is_owner()).await;
    }
    here.close().await.unwrap();
    there.close().await.unwrap();
    Some(idle.as_secs_f64() * 1000.0 / f64::from(millis))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_follower_lost_the_quorum_steps_down_before_another_leads() {
    let ensemble = ZooKeeperEnsemble::start_severable(false, 10).unwrap();
    let idle = severed(&ensemble, "1s", 1000).await;
    eprintln!("nobody owned for {idle:.2} T");
}

/// A server without a quorum that still serves those who only read.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_makes_nobody_an_owner() {
    let read_only = ["-Dreadonlymode.enabled=true"];
    let ensemble = ZooKeeperEnsemble::start_severable_with(false, 4, &read_only).unwrap();
    let name = name("read-only");
    let [first, second, last] = ensemble.members() else {
        panic!("three members");
    };
    let serves = |member: &tenure_testkit::servers::ZooKeeper| {
        member.mode().is_ok_and(|mode| mode != "read-only")
    };
    for member in [first, second, last] {
        until("it has found the others", || serves(member)).await;
    }
    let here = coordinator(last.address(), "1s").await;
    let there = coordinator(format!("{},{}", first.address(), second.address()), "1s").await;
    let contend = |coordinator: &tenure::Coordinator| {
        let contender = LocalContender::new(&name).unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        service
    };
    let ours = contend(&here);
    until("ours leads", || ours.is_owner()).await;
    ensemble.sever().unwrap();
    until("ours has lost it", || !ours.is_owner()).await;
    until("it only reads", || {
        last.mode().is_ok_and(|mode| mode == "read-only")
    })
    .await;
    // Beside the only contender that it knows, and yet no owner.
    let lock = here.lock(&name).unwrap();
    let end = tokio::time::Instant::now() + Duration::from_secs(2);
    while tokio::time::Instant::now() < end {
        assert!(!ours.is_owner(), "an owner by a server that only reads");
        assert!(!matches!(lock.try_acquire().await, Ok(Some(_))));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let rival = contend(&there);
    until("the rival leads", || rival.is_owner()).await;
    there.close().await.unwrap();
    let _ = here.close().await;
}

/// A session that lives on one server only until it makes its first node.
#[tokio::test(flavor = "multi_thread")]
async fn a_local_session_is_known_to_the_leader_when_it_owns() {
    let local = [
        "localSessionsEnabled=true",
        "localSessionsUpgradingEnabled=true",
    ];
    let ensemble = ZooKeeperEnsemble::start_severable_with(false, 10, &local).unwrap();
    let idle = severed(&ensemble, "1s", 1000).await;
    eprintln!("nobody owned for {idle:.2} T");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_server_led_without_a_quorum_steps_down_before_another_leads() {
    // It answers `sync` until it notices: here within 2 s instead of 5.
    let ensemble = ZooKeeperEnsemble::start_severable(true, 4).unwrap();
    let idle = severed(&ensemble, "1s", 1000).await;
    eprintln!("nobody owned for {idle:.2} T");
}

/// A leader that was left alone answers `sync` until it notices, here for 10 s.
/// Those who left it need not wait that long: restarted, they have another at
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn the_word_of_a_leader_that_nobody_follows_renews_nothing() {
    for _ in 0..5 {
        if left_alone().await {
            return;
        }
    }
    panic!("the leader has always noticed before the others were back");
}

/// False when the machine was too slow: it has noticed before the others were
/// back.
async fn left_alone() -> bool {
    let ensemble = ZooKeeperEnsemble::start_severable(true, 20).unwrap();
    let name = name("alone");
    let [first, second, last] = ensemble.members() else {
        panic!("three members");
    };
    assert_eq!(last.mode().unwrap(), "leader");
    let here = coordinator(last.address(), "2s").await;
    let contend = |coordinator: &tenure::Coordinator| {
        let contender = LocalContender::new(&name).unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        service
    };
    let ours = contend(&here);
    until("ours leads", || ours.is_owner()).await;
    let tenure = ours.tenure().unwrap();
    ensemble.sever().unwrap();
    for member in [first, second] {
        member.kill().unwrap();
        member.spawn().unwrap();
    }
    for member in [first, second] {
        member.wait_ready().unwrap();
    }
    // It believes to lead, and says so.
    let is_deceived = last.mode().is_ok_and(|mode| mode == "leader");
    let others = format!("{},{}", first.address(), second.address());
    let there = coordinator(others, "2s").await;
    let rival = contend(&there);
    until("the rival leads", || rival.is_owner()).await;
    assert!(tenure.is_lost(), "two valid tenures");
    let token = tenure.token().unwrap_err().token;
    assert!(Some(rival.tenure().unwrap().token().unwrap()) > token);
    there.close().await.unwrap();
    let _ = here.close().await;
    is_deceived
}

#[tokio::test(flavor = "multi_thread")]
async fn members_may_die_and_the_owner_goes_on() {
    let ensemble = ZooKeeperEnsemble::start(3).unwrap();
    let name = name("members");
    let here = coordinator(ensemble.addresses(), "10s").await;
    let there = coordinator(ensemble.addresses(), "10s").await;
    let service = |coordinator: &tenure::Coordinator| {
        let contender = LocalContender::new(&name).unwrap();
        let service = coordinator.contend_service(contender).unwrap();
        service.start().unwrap();
        service
    };
    let ours = service(&here);
    until("ours leads", || ours.is_owner()).await;
    let tenure = ours.tenure().unwrap();
    let rival = service(&there);
    let alone = |who: &str| {
        let both = ours.is_owner() && rival.is_owner();
        assert!(!both, "two valid tenures after {who}");
    };
    // Each in turn, among them the leader and the one that we talk to. An
    // outage of 6 s would be too long; a member is missed for less.
    for member in ensemble.members() {
        member.kill().unwrap();
        ensemble.wait_leader().unwrap();
        member.start().unwrap();
        alone("a member's death");
    }
    until("the quorum answers", || ours.is_owner() || rival.is_owner()).await;
    let unbroken = !tenure.is_lost();
    eprintln!("three members killed in turn: tenure kept: {unbroken}");

    // All at once, and back: by the same session or by a new one.
    for member in ensemble.members() {
        member.kill().unwrap();
    }
    for member in ensemble.members() {
        member.spawn().unwrap();
    }
    ensemble.wait_leader().unwrap();
    let end = Clock::boot().now() + Duration::from_secs(30);
    loop {
        alone("the death of all");
        if ours.is_owner() || rival.is_owner() {
            break;
        }
        assert!(Clock::boot().now() < end, "nobody leads");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    eprintln!(
        "all killed and restarted: tenure kept: {}",
        !tenure.is_lost()
    );
    here.close().await.unwrap();
    there.close().await.unwrap();
}

/// Measures the rule of 5/8 T: see docs/testing.md.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of several minutes: TENURE_RUNS=20"]
async fn how_long_nobody_owns_when_a_follower_loses_the_quorum() {
    let runs = std::env::var("TENURE_RUNS").ok();
    let runs: u32 = runs.and_then(|runs| runs.parse().ok()).unwrap_or(20);
    for (timeout, millis) in [("1s", 1000), ("2s", 2000), ("3s", 3000)] {
        let ensemble = ZooKeeperEnsemble::start_severable(false, 10).unwrap();
        let (mut follower, mut leader) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            follower.push(severed(&ensemble, timeout, millis).await);
        }
        // One who led and was severed follows when it is back.
        for _ in 0..runs / 5 {
            let ensemble = ZooKeeperEnsemble::start_severable(true, 10).unwrap();
            leader.push(severed(&ensemble, timeout, millis).await);
        }
        for (whose, mut seen) in [("follower", follower), ("leader", leader)] {
            seen.sort_by(f64::total_cmp);
            eprintln!("T = {timeout}, the {whose} severed: nobody owned for {seen:.2?} T");
        }
    }
}
