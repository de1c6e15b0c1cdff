//! Stands for election again and again.

use std::rc::Rc;

use tenure::model::MutexName;
use tenure::{CampaignEvent, Coordinator};
use tenure_testkit::history::What;

use super::Worker;
use super::hold::{Claim, hold};
use super::writer::Writer;

pub(super) const NAME: &str = "lead";

pub(super) async fn work(worker: Rc<Worker>, coordinator: Coordinator) {
    let name = MutexName::new(NAME).expect("a name");
    let elector = coordinator.elector(NAME).expect("a name");
    let mut writer = Writer::open(&worker).await;
    loop {
        worker.tell(worker.now(), What::Asked { name: name.clone() });
        let Ok(mut campaign) = elector.campaign() else {
            worker.rest(100).await;
            continue;
        };
        while let Some(event) = campaign.next().await {
            let CampaignEvent::Elected(leadership) = event else {
                continue;
            };
            let is_leader = hold(&worker, &mut writer, Claim::Tenure(leadership.tenure())).await;
            match is_leader {
                true => drop(leadership.resign().await),
                false => drop(leadership),
            }
            // Now and then out of the race, and in again.
            if worker.chance(|chance| chance.u8(0..4)) == 0 {
                break;
            }
        }
        drop(campaign);
        worker.rest(100).await;
    }
}
