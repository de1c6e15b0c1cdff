//! Who leads, and when the next run is: for a user who asked for details.

use std::time::{Duration, SystemTime};

use tenure::schedule::{NextRun, Scheduler};
use tenure::{Coordinator, Observer};

use crate::output::{self, Voice, plain};

/// How often this process looks at what it knows itself: no store is asked.
const LOOK: Duration = Duration::from_millis(200);

/// Tells of each change, for ever.
pub(super) async fn tell(scheduler: &Scheduler, coordinator: &Coordinator, voice: &Voice) {
    if !voice.is_detailed() {
        return std::future::pending().await;
    }
    let elector = coordinator.elector(scheduler.name().as_str());
    let mut others = elector.and_then(|elector| elector.observe()).ok();
    let mut said: (bool, Option<NextRun>) = (false, None);
    loop {
        tokio::select! {
            leader = next(&mut others) => {
                // Of this one the line below says more.
                if scheduler.status().leading.is_none() {
                    voice.detail(&format_args!("{}: led by {leader}", scheduler.name()));
                }
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        let status = scheduler.status();
        let (leads, next) = (status.leading.is_some(), status.next_run);
        if let (true, Some(run)) = (leads, next)
            && said != (leads, next)
        {
            let due = SystemTime::UNIX_EPOCH + Duration::from_millis(run.due_at.as_millis());
            voice.detail(&format_args!(
                "{}: led here; run {} is next, at {}",
                scheduler.name(),
                run.tick,
                output::stamp(due)
            ));
        } else if said.0 && !leads {
            voice.detail(&format_args!("{}: not led here any more", scheduler.name()));
        }
        // While a run is under way nothing is next: that is no news.
        said = (leads, next.or(said.1.filter(|_| leads)));
    }
}

/// The leader from now on.
async fn next(others: &mut Option<Observer>) -> String {
    if let Some(observer) = others
        && let Some(state) = observer.next().await
    {
        let owner = state.after.owner_id().map(|id| plain(id.as_str()));
        return owner.unwrap_or_else(|| "nobody".into());
    }
    // Closed: there is no more to hear.
    *others = None;
    std::future::pending().await
}
