//! Opening and closing.

use tenure::clock::Clock;
use tenure::{CampaignEvent, Coordinator, Elector};

use super::world::everywhere;

#[tokio::test(start_paused = true)]
async fn connect() {
    everywhere(async |_| async {
        let builder = Coordinator::builder().clock(Clock::tokio());
        builder.connect("memory:").await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn close_with_a_guard_an_office_and_a_waiter() {
    everywhere(async |world| {
        let us = world.us.clone();
        let guard = us.lock("m").unwrap().acquire().await.unwrap();
        let waiter = us.lock("m").unwrap();
        let waiter = tokio::spawn(async move { waiter.acquire().await.map(drop) });
        let leading = tokio::spawn(lead_until_deposed(us.elector("other").unwrap()));
        async move {
            us.close().await.unwrap();
            assert!(guard.is_lost());
            assert!(waiter.await.unwrap().is_err());
            leading.await.unwrap();
        }
    })
    .await;
}

async fn lead_until_deposed(elector: Elector) {
    let (mut campaign, mut office) = (elector.campaign().unwrap(), None);
    while let Some(event) = campaign.next().await {
        match event {
            CampaignEvent::Elected(leadership) => office = Some(leadership),
            CampaignEvent::Deposed(_) => office = None,
            _ => {}
        }
    }
    drop(office);
}
