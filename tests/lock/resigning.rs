//! Offices that are given back, and who knows of them.

use std::time::Duration;

use tenure::{Campaign, CampaignEvent, ErrorKind, Leadership, LossCause};
use tenure_testkit::fault::{Call, Fault};

use super::support::{World, terms};

async fn elected(campaign: &mut Campaign) -> Leadership {
    loop {
        if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
            return office;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_elector_knows_who_leads_and_whether_it_does() {
    let world = World::new();
    let (ours, theirs) = (world.coordinator(), world.coordinator());
    let (ours, theirs) = (ours.elector("m").unwrap(), theirs.elector("m").unwrap());
    assert_eq!(theirs.leader().await.unwrap(), None);
    assert!(!ours.is_standing());
    let mut campaign = ours.campaign().unwrap();
    assert!(!ours.is_leading() && ours.is_standing() && ours.tenure().is_none());
    let office = elected(&mut campaign).await;
    assert!(ours.is_leading() && ours.clone().is_leading() && !theirs.is_leading());
    let leader = theirs.leader().await.unwrap().expect("a leader");
    assert!(leader.is(campaign.contender()));
    assert_eq!(leader.token(), office.tenure().token().ok());
    let tenure = ours.clone().tenure().expect("it leads");
    assert_eq!(tenure.token(), office.tenure().token());
    // Otherwise it would stand again at once.
    drop(campaign);
    assert!(ours.is_leading(), "an office outlives its campaign");
    assert!(!ours.is_standing() && !theirs.is_standing());
    office.resign().await.unwrap();
    assert!(!ours.is_leading() && ours.tenure().is_none());
    assert_eq!(theirs.leader().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn whoever_loses_the_office_leads_no_more() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let elector = coordinator.elector("m").unwrap();
    let mut campaign = elector.campaign().unwrap();
    let office = elected(&mut campaign).await;
    faults.always(Call::Renew, Fault::Fail);
    tokio::time::sleep(terms().lease()).await;
    assert!(!elector.is_leading(), "its own clock says so");
    let error = office.resign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_resignation_waits_for_the_store() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let slow = Duration::from_millis(700);
    for fault in [Fault::DelayBefore(slow), Fault::DelayAfter(slow)] {
        let office = elected(&mut campaign).await;
        faults.next(Call::Release, fault);
        let begin = world.clock.now();
        office.resign().await.unwrap();
        assert!(world.clock.now().since(begin) >= slow);
    }
    // A lost answer is asked for again.
    let office = elected(&mut campaign).await;
    faults.next(Call::Release, Fault::LoseAnswer);
    office.resign().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_resignation_that_nobody_confirms_says_so() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    faults.always(Call::Release, Fault::Fail);
    let error = office.resign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed, "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_office_that_was_revoked_cannot_be_resigned() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    assert!(coordinator.revoke("m", None).await.unwrap().is_freed());
    // It has not heard of it yet: the store says so.
    let error = office.resign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert!(error.to_string().contains(&LossCause::Taken.to_string()));
}

#[tokio::test(start_paused = true)]
async fn a_resignation_while_the_coordinator_closes_is_confirmed_too() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    let closing = tokio::spawn(async move { coordinator.close().await });
    office.tenure().ending().await;
    office.resign().await.unwrap();
    closing.await.unwrap().unwrap();
}
