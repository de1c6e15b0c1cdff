//! Elections from plain threads.

use std::time::Duration;

use tenure::stores::memory::Memory;
use tenure::{CampaignEvent, ErrorKind, TroubleNews};
use tenure_testkit::fault::{Call, Fault};

use super::support::{LONG, coordinator, faulty, long_terms, terms};

#[test]
fn work_is_led_and_the_office_resigned() {
    let store = Memory::new();
    let mut last = None;
    for _ in 0..3 {
        let elector = coordinator(&store, long_terms()).elector("m").unwrap();
        let token = elector.lead(|tenure| tenure.token().unwrap()).unwrap();
        assert!(Some(token) > last, "and the next one need not wait");
        last = Some(token);
    }
}

#[test]
fn who_loses_the_office_leads_again() {
    let store = Memory::new();
    let (coordinator, faults) = faulty(&store);
    let mut tokens = Vec::new();
    let led = coordinator.elector("m").unwrap().lead(|tenure| {
        tokens.push(tenure.token().unwrap());
        if tokens.len() == 1 {
            faults.always(Call::Renew, Fault::Fail);
            tenure.wait_lost(LONG).expect("it is lost");
            faults.heal();
        }
        tokens.len()
    });
    assert_eq!(led.unwrap(), 2);
    assert!(tokens[1] > tokens[0]);
}

#[test]
fn a_closed_coordinator_ends_the_wait() {
    let store = Memory::new();
    let (here, there) = (coordinator(&store, terms()), coordinator(&store, terms()));
    let _guard = here.lock("m").unwrap().acquire().unwrap();
    let elector = there.elector("m").unwrap();
    let waiter = std::thread::spawn(move || elector.lead(|_| ()));
    there.close().unwrap();
    assert_eq!(
        waiter.join().unwrap().unwrap_err().kind(),
        ErrorKind::Closed
    );
}

#[test]
fn a_leader_hears_of_a_close_and_may_finish_its_work() {
    let coordinator = coordinator(&Memory::new(), long_terms());
    let elector = coordinator.elector("m").unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let coordinator = &coordinator;
        let closing = scope.spawn(move || {
            told.recv().unwrap();
            coordinator.close()
        });
        let led = elector.lead(|tenure| {
            assert!(!tenure.wait_ending(Duration::from_millis(20)), "not asked");
            tell.send(()).unwrap();
            assert!(tenure.wait_ending(LONG) && tenure.is_ending());
            tenure.token().map(drop)
        });
        assert_eq!(led.unwrap(), Ok(()), "still in office");
        closing.join().unwrap().unwrap();
    });
}

#[test]
fn campaigns_and_observers_are_iterators() {
    let store = Memory::new();
    let (here, there) = (coordinator(&store, terms()), coordinator(&store, terms()));
    let mut observer = there.elector("m").unwrap().observe().unwrap();
    let elector = here.elector("m").unwrap();
    let mut campaign = elector.campaign().unwrap();
    let office = campaign.find_map(|event| match event {
        CampaignEvent::Elected(office) => Some(office),
        _ => None,
    });
    let office = office.expect("elected");
    let id = office.tenure().contender().clone();
    assert!(observer.any(|state| state.after.is_owner(&id)));
    let seen = there.elector("m").unwrap().leader().unwrap();
    assert!(seen.expect("a leader").is(&id));
    assert!(elector.is_leading() && elector.is_standing());
    let tenure = elector.tenure().expect("it leads");
    assert_eq!(tenure.token(), office.tenure().token());
    drop(campaign);
    assert!(!elector.is_standing());
    office.resign().unwrap();
    assert!(!elector.is_leading() && elector.tenure().is_none() && tenure.is_lost());
    let guard = there.lock("m").unwrap().try_acquire().unwrap();
    drop(guard.expect("the store has been told"));
    there.close().unwrap();
    while observer.next().is_some() {}
}

#[test]
fn trouble_is_told_to_threads_as_well() {
    let store = Memory::new();
    let (coordinator, faults) = faulty(&store);
    let mut troubles = coordinator.troubles();
    faults.next(Call::Acquire, Fault::Fail);
    let guard = coordinator.lock("m").unwrap().acquire().unwrap();
    let (failed, well) = (troubles.next().unwrap(), troubles.next().unwrap());
    assert!(
        matches!(failed.news, TroubleNews::Failed(error) if error.kind() == ErrorKind::Unreachable)
    );
    assert!(matches!(well.news, TroubleNews::Well));
    drop(guard);
    coordinator.close().unwrap();
    assert!(troubles.next().is_none());
}
