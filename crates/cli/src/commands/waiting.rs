//! Waiting, made visible to a person.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::model::{MutexName, Owner};

use crate::output::{Voice, brief};

/// Shows who holds `name` and for how long we have waited, for ever. Where
/// no person watches it is silent, or says it once if details were asked for.
pub(super) async fn show(coordinator: &Coordinator, name: &MutexName, voice: &Voice) {
    let start = Instant::now();
    while voice.is_watched || voice.is_detailed() {
        // Most waits are over before a person could read of them.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let by = match coordinator.owner(name).await {
            Ok(Some(owner)) => format!("held by {}", described(&owner)),
            Ok(None) => "free".into(),
            Err(error) => error.to_string(),
        };
        let waited = brief(start.elapsed());
        let line = format!("waiting for {name} ({by}); {waited} so far");
        if !voice.is_watched {
            voice.detail(&line);
            break;
        }
        voice.passing(&line);
    }
    std::future::pending::<()>().await;
}

/// `ID for 3.2s`.
pub(super) fn described(owner: &Owner) -> String {
    match owner.owned_for() {
        Some(time) => format!("{owner} for {}", brief(time)),
        None => owner.to_string(),
    }
}
