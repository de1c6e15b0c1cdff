//! Elections.

use std::time::Duration;

use tenure::CampaignEvent;

use super::world::{World, everywhere};

fn elector(world: &World) -> tenure::Elector {
    world.us.elector("m").unwrap()
}

#[tokio::test(start_paused = true)]
async fn lead() {
    everywhere(async |world| {
        let elector = elector(world);
        async move {
            let work = |_| tokio::time::sleep(Duration::from_millis(100));
            elector.lead(work).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn campaign() {
    everywhere(async |world| {
        let elector = elector(world);
        async move {
            let mut campaign = elector.campaign().unwrap();
            loop {
                if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
                    return office.resign().await.unwrap();
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_ends_before_its_office_does() {
    everywhere(async |world| {
        let elector = elector(world);
        async move {
            let mut campaign = elector.campaign().unwrap();
            let office = loop {
                if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
                    break office;
                }
            };
            drop(campaign);
            let work = tokio::time::sleep(Duration::from_millis(100));
            office.tenure().protect(work).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn observe() {
    everywhere(async |world| {
        let (elector, lock) = (elector(world), world.us.lock("m").unwrap());
        async move {
            let mut observer = elector.observe().unwrap();
            let _guard = lock.acquire().await.unwrap();
            observer.next().await.unwrap();
        }
    })
    .await;
}
