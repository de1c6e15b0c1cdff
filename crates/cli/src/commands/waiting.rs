//! Waiting, made visible to a person.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::Answer;
use tenure::model::MutexName;

use crate::output::{Voice, brief};

/// Shows who holds `name` and for how long we have waited, for ever. Silent
/// where nobody watches.
pub(super) async fn show(coordinator: &Coordinator, name: &MutexName, voice: &Voice) {
    if !voice.is_watched {
        return std::future::pending().await;
    }
    let start = Instant::now();
    loop {
        // Most waits are over before anybody could read of them.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let by = match coordinator.owner(name).await {
            Ok(answer) => {
                described(&answer).map_or_else(|| "free".into(), |by| format!("held by {by}"))
            }
            Err(error) => error.to_string(),
        };
        let waited = brief(start.elapsed());
        voice.passing(&format!("waiting for {name} ({by}); {waited} so far"));
    }
}

/// `ID for 3.2s`, if there is an owner.
pub(super) fn described(answer: &Answer) -> Option<String> {
    let owner = answer.owner();
    let id = owner.owner_id().filter(|_| owner.has_owner(answer.now()))?;
    Some(match owner.acquired_at() {
        Some(at) => format!("{id} for {}", brief(answer.now().since(at))),
        None => id.to_string(),
    })
}
