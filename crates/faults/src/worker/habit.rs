//! What a worker does otherwise than the rest.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use serde::{Deserialize, Serialize};
use tenure::model::{ContenderId, ContenderIdGenerator, MutexName};
use tenure::{CampaignEvent, Coordinator, Result};
use tenure_testkit::history::What;
use tokio::sync::Notify;

use super::hold::{Claim, Held, keep_until};
use super::{Worker, lead, lock};

/// A worker's habit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Habit {
    /// That of all.
    #[default]
    Usual,
    /// All its ids are one, which is also that of others with this habit: a constant, a host name.
    OneId,
    /// It asks for the lock once more, and stands for election, and never looks at the answers.
    Forgetful,
    /// It does nothing but lead, until it is asked to end.
    Lasting,
}

/// Rung when the worker is asked to end.
pub(super) static END: Notify = Notify::const_new();

/// The same id again and again.
#[derive(Debug)]
pub(super) struct OneId;

impl ContenderIdGenerator for OneId {
    fn generate(&self) -> Result<ContenderId> {
        ContenderId::new("one-for-all")
    }
}

/// Begins to wait for the lock and for office, and keeps what it waits by without ever looking at it
/// again.
pub(super) async fn forget(coordinator: Coordinator) {
    let elector = coordinator.elector(lead::NAME).expect("a name");
    let _unread = elector.campaign().expect("a campaign");
    let lock = coordinator.lock(lock::NAME).expect("a name");
    let mut asked = pin!(lock.acquire());
    poll_fn(|context| {
        let _ = asked.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
    pending::<()>().await;
}

/// Leads for as long as it is not asked to end, and hands over then.
pub(super) async fn last(worker: Rc<Worker>, coordinator: Coordinator) {
    let name = MutexName::new(lead::NAME).expect("a name");
    let elector = coordinator.elector(lead::NAME).expect("a name");
    let lead = async {
        worker.tell(worker.now(), What::Asked { name });
        let mut campaign = elector.campaign().expect("a campaign");
        while let Some(event) = campaign.next().await {
            let CampaignEvent::Elected(leadership) = event else {
                continue;
            };
            let claim = Claim::Tenure(leadership.tenure());
            let is_over = |_| leadership.tenure().is_ending();
            if let Some(held) = Held::begin(&worker, &claim) {
                keep_until(&worker, None, held, claim, is_over).await;
            }
            drop(leadership);
        }
    };
    let close = async {
        END.notified().await;
        let _ = coordinator.close().await;
        std::process::exit(0);
    };
    tokio::join!(lead, close);
}
