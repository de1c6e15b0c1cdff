//! What is counted.

use std::time::Duration;

use tenure::schedule::ScheduleConfig;

use crate::recorder::TestRecorder;
use crate::{FaultyStore, seconds};

pub(crate) const IN_TROUBLE: &str = r#"tenure_stores_in_trouble{store="memory"}"#;

#[tokio::test(start_paused = true)]
async fn a_lock_is_counted_from_waiting_to_hand_over() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let stage = FaultyStore::new();
    let lock = stage.coordinator().lock("report").unwrap();
    let guard = lock.acquire().await.unwrap();
    let next = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap().release().await }
    });
    // Within what an owner may hand on.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let of = r#"{purpose="lock",mutex="report"}"#;
    assert_eq!(recorder.get(&format!("tenure_held{of}")), 1.0);
    assert_eq!(recorder.get(&format!("tenure_waiting{of}")), 1.0);
    drop(guard);
    next.await.unwrap().unwrap();
    assert_eq!(recorder.get(&format!("tenure_held{of}")), 0.0);
    assert_eq!(recorder.get(&format!("tenure_waiting{of}")), 0.0);
    assert_eq!(recorder.get(&format!("tenure_acquisitions_total{of}")), 2.0);
    assert_eq!(recorder.get(&format!("tenure_wait_seconds{of} sum")), 0.1);
    assert_eq!(recorder.get(&format!("tenure_hold_seconds{of} sum")), 0.1);
    assert_eq!(
        recorder.get(r#"tenure_hand_overs_total{mutex="report"}"#),
        1.0
    );
    let calls = r#"tenure_store_call_seconds{store="memory",operation="acquire"} count"#;
    assert_eq!(recorder.get(calls), 1.0);
    // Nobody else is counted as an office.
    assert_eq!(recorder.count("tenure_leading"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_office_is_counted_with_its_renewals_its_loss_and_the_stores_errors() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let elector = coordinator.elector("billing").unwrap();
    let leader = tokio::spawn(async move { elector.lead(|_| std::future::pending::<()>()).await });
    tokio::time::sleep(seconds(100)).await;
    let of = r#"{purpose="leader",mutex="billing"}"#;
    assert_eq!(recorder.get(&format!("tenure_leading{of}")), 1.0);
    assert!(recorder.get(r#"tenure_renewals_total{store="memory"}"#) >= 9.0);
    assert_eq!(recorder.get(IN_TROUBLE), 0.0);
    stage.cut();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(recorder.get(&format!("tenure_leading{of}")), 0.0);
    assert_eq!(recorder.get(&format!("tenure_waiting{of}")), 1.0);
    assert_eq!(recorder.get(IN_TROUBLE), 1.0);
    let lost = r#"tenure_losses_total{purpose="leader",mutex="billing",cause="deadline"}"#;
    assert_eq!(recorder.get(lost), 1.0);
    assert!(recorder.get(r#"tenure_renewal_failures_total{store="memory"}"#) >= 1.0);
    for operation in ["acquire", "renew"] {
        let of = format!(r#"{{store="memory",operation="{operation}",kind="unreachable"}}"#);
        assert!(recorder.get(&format!("tenure_store_errors_total{of}")) >= 1.0);
    }
    stage.faults.heal();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(recorder.get(&format!("tenure_leading{of}")), 1.0);
    assert_eq!(recorder.get(&format!("tenure_acquisitions_total{of}")), 2.0);
    assert_eq!(recorder.get(IN_TROUBLE), 0.0);
    leader.abort();
}

/// They share one series: none may speak for the others.
#[tokio::test(start_paused = true)]
async fn coordinators_of_one_kind_of_store_are_counted_together() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (sick, other) = (FaultyStore::new(), FaultyStore::new());
    let lead = |stage: &FaultyStore| {
        let elector = stage.coordinator().elector("billing").unwrap();
        tokio::spawn(async move { elector.lead(|_| std::future::pending::<()>()).await })
    };
    let first = lead(&sick);
    assert_eq!(recorder.get(IN_TROUBLE), 0.0, "before anything was heard");
    tokio::time::sleep(seconds(1)).await;
    sick.cut();
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(recorder.get(IN_TROUBLE), 1.0);
    // One that begins, and does well, does not hide it.
    let second = lead(&other);
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(recorder.get(IN_TROUBLE), 1.0);
    other.cut();
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(recorder.get(IN_TROUBLE), 2.0);
    sick.faults.heal();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(recorder.get(IN_TROUBLE), 1.0);
    // It goes away, and tries no more.
    second.abort();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(recorder.get(IN_TROUBLE), 0.0);
    first.abort();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_taken_is_neither_renewed_nor_a_failure() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let coordinator = FaultyStore::new().coordinator();
    let guard = coordinator.lock("report").unwrap().acquire().await.unwrap();
    coordinator.revoke("report", None).await.unwrap();
    guard.tenure().lost().await;
    let taken = r#"tenure_losses_total{purpose="lock",mutex="report",cause="taken"}"#;
    assert_eq!(recorder.get(taken), 1.0);
    assert_eq!(
        recorder.get(r#"tenure_renewals_total{store="memory"}"#),
        0.0
    );
    assert_eq!(
        recorder.get(r#"tenure_renewal_failures_total{store="memory"}"#),
        0.0
    );
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_counted_by_outcome_with_its_last_success() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(100)).unwrap();
    let scheduler = coordinator.scheduler("tidy", config).unwrap();
    let handle = scheduler
        .start(|tick| async move {
            tokio::time::sleep(seconds(3)).await;
            if tick.number() == 1 {
                Err("no paper")
            } else {
                Ok(())
            }
        })
        .unwrap();
    while handle.status().runs < 3 {
        tokio::time::sleep(seconds(1)).await;
    }
    handle.stop().await.unwrap();
    let runs = |outcome| {
        recorder.get(&format!(
            "tenure_schedule_runs_total{{schedule=\"tidy\",outcome=\"{outcome}\"}}"
        ))
    };
    assert_eq!((runs("done"), runs("failed")), (2.0, 1.0));
    // A server must see a counter at zero to see it rise.
    for outcome in ["panicked", "timed_out", "cut"] {
        assert_eq!(runs(outcome), 0.0, "{outcome}");
    }
    for cause in ["deadline", "taken", "unclaimed", "clock_jump", "forked"] {
        let of = format!(r#"{{purpose="schedule",mutex="tidy",cause="{cause}"}}"#);
        assert_eq!(recorder.get(&format!("tenure_losses_total{of}")), 0.0);
    }
    assert_eq!(
        recorder.get(r#"tenure_schedule_run_seconds{schedule="tidy"} sum"#),
        9.0
    );
    assert_eq!(
        recorder.get(r#"tenure_schedule_late_seconds{schedule="tidy"} count"#),
        3.0
    );
    let success = r#"tenure_schedule_last_success_timestamp_seconds{schedule="tidy"}"#;
    assert!(recorder.get(success) > 1_000_000_000.0);
}

/// Who watches for a run that is missing must not have to wait for the next.
#[tokio::test(start_paused = true)]
async fn the_last_success_is_known_from_the_start_and_in_every_process() {
    let stage = FaultyStore::new();
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(1_000)).unwrap();
    let success = r#"tenure_schedule_last_success_timestamp_seconds{schedule="tidy"}"#;
    let start = |recorder: &TestRecorder| {
        let _guard = metrics::set_default_local_recorder(recorder);
        let scheduler = stage.coordinator().scheduler("tidy", config.clone());
        scheduler.unwrap().start(|_| async {}).unwrap()
    };
    // The tasks of all of them run under one recorder, so each has its time.
    let shared = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&shared);
    let first = start(&shared);
    while first.status().runs < 1 {
        tokio::time::sleep(seconds(1)).await;
    }
    first.stop().await.unwrap();
    let then = shared.get(success);
    drop(_guard);

    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    tokio::time::sleep(seconds(100)).await;
    let next = start(&recorder);
    while next.status().leading.is_none() {
        tokio::time::sleep(seconds(1)).await;
    }
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(next.status().runs, 0);
    assert_eq!(recorder.get(success), then);
    next.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn offices_that_share_one_label_are_counted_together() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let coordinator = FaultyStore::new().coordinator();
    let mut leaders = Vec::new();
    for number in 0..103 {
        let elector = coordinator.elector(format!("office-{number}")).unwrap();
        leaders.push(tokio::spawn(async move {
            elector.lead(|_| std::future::pending::<()>()).await
        }));
    }
    tokio::time::sleep(seconds(1)).await;
    let others = r#"tenure_leading{purpose="leader",mutex="other"}"#;
    assert_eq!(recorder.get(others), 3.0);
    leaders.pop().unwrap().abort();
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(recorder.get(others), 2.0);
}

#[tokio::test(start_paused = true)]
async fn names_beyond_the_limit_share_one_label() {
    let recorder = TestRecorder::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let coordinator = FaultyStore::new().coordinator();
    for number in 0..150 {
        let lock = coordinator.lock(format!("customer-{number}")).unwrap();
        lock.acquire().await.unwrap().release().await.unwrap();
    }
    assert_eq!(recorder.count("tenure_acquisitions_total"), 101);
    let others = r#"tenure_acquisitions_total{purpose="lock",mutex="other"}"#;
    assert_eq!(recorder.get(others), 50.0);
}
