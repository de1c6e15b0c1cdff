//! Services from plain threads.

use std::sync::mpsc;

use tenure::ErrorKind;
use tenure::model::{MutexName, MutexState};
use tenure::service::{LocalContender, Retriever, Status};
use tenure::stores::memory::Memory;

use super::support::{LONG, coordinator, long_terms, millis};

struct Ear(MutexName, mpsc::Sender<bool>);

impl Retriever for Ear {
    fn mutex(&self) -> &MutexName {
        &self.0
    }

    fn notify_owner(&self, state: &MutexState) {
        let _ = self.1.send(state.after.owner_id().is_some());
    }
}

#[test]
fn a_service_starts_stops_and_starts_again() {
    let store = Memory::new();
    let coordinator = coordinator(&store, long_terms());
    let (hear, heard) = mpsc::channel();
    let ear = Ear(MutexName::new("m").unwrap(), hear);
    let retrieval = coordinator.retrieval_service(ear).unwrap();
    retrieval.start().unwrap();

    let (tell, told) = mpsc::channel();
    let telling = tell.clone();
    let contender = LocalContender::new("m")
        .unwrap()
        .on_acquired(move |_| telling.send(true).unwrap())
        .on_released(move |_| tell.send(false).unwrap());
    let service = coordinator.contend_service(contender).unwrap();
    assert_eq!(service.stop().unwrap_err().kind(), ErrorKind::WrongState);
    for _ in 0..2 {
        service.start().unwrap();
        assert!(told.recv_timeout(LONG).unwrap());
        assert!(heard.recv_timeout(LONG).unwrap());
        assert!(service.is_owner() && service.is_in_ttl() && service.running());
        let tenure = service.tenure().unwrap();
        assert_eq!(tenure.wait_lost(millis(5)), None);
        service.stop().unwrap();
        assert_eq!(told.recv_timeout(LONG), Ok(false));
        assert!(!heard.recv_timeout(LONG).unwrap());
        assert!(tenure.wait_lost(LONG).is_some());
        assert_eq!(service.status(), Status::Initial);
    }
    retrieval.stop().unwrap();
    assert_eq!(retrieval.status(), Status::Initial);
}
