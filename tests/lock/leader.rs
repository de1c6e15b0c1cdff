//! Elections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::{CampaignEvent, ErrorKind, LossCause};
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

#[tokio::test(start_paused = true)]
async fn work_runs_once_elected_and_its_result_is_returned_after_resigning() {
    let world = World::new();
    let elector = world.coordinator().elector("m").unwrap();
    let token = elector
        .lead(|tenure| async move { tenure.token().unwrap() })
        .await
        .unwrap();
    let next = world.coordinator().elector("m").unwrap();
    let begin = world.clock.now();
    let later = next
        .lead(|tenure| async move { tenure.token().unwrap() })
        .await
        .unwrap();
    assert!(later > token);
    assert!(
        world.clock.now().since(begin) < Duration::from_millis(10),
        "it was resigned"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_loses_and_regains_gets_a_new_tenure() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let elector = coordinator.elector("m").unwrap();
    faults.always(Call::Renew, Fault::Fail);
    let terms = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&terms);
    let healer = faults.clone();
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&tokens);
    elector
        .lead(move |tenure| {
            seen.lock().unwrap().push(tenure.token().unwrap());
            let term = counted.fetch_add(1, Ordering::SeqCst);
            let healer = healer.clone();
            async move {
                if term == 0 {
                    return std::future::pending().await;
                }
                healer.heal();
            }
        })
        .await
        .unwrap();
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), 2);
    assert!(tokens[1].store() > tokens[0].store());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_lead_drops_the_work_and_then_resigns() {
    struct Work(Arc<AtomicUsize>, tenure::Tenure);
    impl Drop for Work {
        fn drop(&mut self) {
            assert!(!self.1.is_lost(), "the office is kept while the work ends");
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let world = World::new();
    let ended = Arc::new(AtomicUsize::new(0));
    let elector = world.coordinator().elector("m").unwrap();
    let counted = Arc::clone(&ended);
    let leading = elector.lead(move |tenure| {
        let work = Work(Arc::clone(&counted), tenure);
        async move {
            std::future::pending::<()>().await;
            drop(work);
        }
    });
    assert!(
        tokio::time::timeout(Duration::from_secs(60), leading)
            .await
            .is_err()
    );
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    let next = world.coordinator().lock("m").unwrap();
    assert!(
        next.acquire_within(Duration::from_secs(1))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn a_campaign_tells_everything_in_order() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let me = campaign.contender().clone();

    let Some(CampaignEvent::Observed(state)) = campaign.next().await else {
        panic!()
    };
    assert!(state.is_acquired(&me));
    let Some(CampaignEvent::Elected(leadership)) = campaign.next().await else {
        panic!()
    };
    let first = leadership.tenure().token().unwrap();

    faults.always(Call::Renew, Fault::Fail);
    let lost = loop {
        match campaign.next().await.unwrap() {
            CampaignEvent::Trouble(error) => assert_eq!(error.kind(), ErrorKind::Unreachable),
            CampaignEvent::Deposed(lost) => break lost,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((lost.cause, lost.token), (LossCause::Deadline, Some(first)));
    let Some(CampaignEvent::Observed(state)) = campaign.next().await else {
        panic!()
    };
    assert!(state.is_released(&me));

    faults.heal();
    drop(leadership);
    let again = loop {
        match campaign.next().await.unwrap() {
            CampaignEvent::Elected(leadership) => break leadership,
            CampaignEvent::Observed(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(again.tenure().token().unwrap() > first);
    drop(again);
    coordinator.close().await.unwrap();
    while campaign.next().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn others_know_the_leader_by_its_id() {
    let world = World::new();
    let (leader, other) = (world.coordinator(), world.coordinator());
    let mut leading = leader.elector("m").unwrap().campaign().unwrap();
    let id = leading.contender().clone();
    let office = loop {
        if let CampaignEvent::Elected(office) = leading.next().await.unwrap() {
            break office;
        }
    };
    let mut standing = other.elector("m").unwrap().campaign().unwrap();
    let Some(CampaignEvent::Observed(state)) = standing.next().await else {
        panic!()
    };
    assert!(state.is_acquired(&id));
    let mut observer = other.elector("m").unwrap().observe().unwrap();
    assert!(observer.next().await.unwrap().after.is_owner(&id));

    let second = standing.contender().clone();
    office.resign().await.unwrap();
    while !observer.next().await.unwrap().after.is_owner(&second) {}
}

#[tokio::test(start_paused = true)]
async fn a_campaign_or_an_observer_after_close_is_refused() {
    let world = World::new();
    let coordinator = world.coordinator();
    let elector = coordinator.elector("m").unwrap();
    coordinator.close().await.unwrap();
    let error = elector.campaign().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    let error = elector.observe().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(
        elector.lead(|_| async {}).await.unwrap_err().kind(),
        ErrorKind::Closed
    );
}
