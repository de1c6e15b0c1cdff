//! Services.

use tenure::model::{MutexName, MutexState};
use tenure::service::{LocalContender, Retriever, Status};

use super::world::everywhere;

struct Onlooker(MutexName);

impl Retriever for Onlooker {
    fn mutex(&self) -> &MutexName {
        &self.0
    }

    fn notify_owner(&self, _: &MutexState) {}
}

#[tokio::test(start_paused = true)]
async fn stop_contending() {
    everywhere(async |world| {
        let contender = LocalContender::new("m").unwrap();
        let service = world.us.contend_service(contender).unwrap();
        service.start().unwrap();
        async move { service.stop().await.unwrap() }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn stop_contending_and_start_again() {
    everywhere(async |world| {
        let contender = LocalContender::new("m").unwrap();
        let service = world.us.contend_service(contender).unwrap();
        async move {
            for _ in 0..2 {
                service.start().unwrap();
                service.stop().await.unwrap();
                assert_eq!(service.status(), Status::Initial);
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn stop_observing() {
    everywhere(async |world| {
        let onlooker = Onlooker(MutexName::new("m").unwrap());
        let service = world.us.retrieval_service(onlooker).unwrap();
        service.start().unwrap();
        async move { service.stop().await.unwrap() }
    })
    .await;
}
