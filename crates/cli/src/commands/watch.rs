//! `tenure watch`: follow the changes of owner.

use std::process::ExitCode;
use std::time::SystemTime;

use serde::Serialize;
use tenure::model::{FencingToken, MutexState};
use tokio::sync::mpsc;

use crate::args::Watch;
use crate::complaints::Complaints;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, plain};
use crate::signals::Signals;
use crate::store;

/// One change, as JSON.
#[derive(Debug, Serialize)]
struct Change {
    at: String,
    name: String,
    event: &'static str,
    owner: Option<String>,
    token: Option<FencingToken>,
    before: Option<String>,
}

pub(crate) async fn watch(
    watch: Watch,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let coordinator = tokio::select! {
        opened = store::wait_for(settings, watch.fail_fast, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    // One that is sick does not end the others.
    let mut complaints = Complaints::about(&coordinator, watch.names.len(), voice);
    let (tell, mut changes) = mpsc::unbounded_channel();
    for name in watch.names {
        let mut observer = coordinator.elector(&name)?.observe()?;
        let tell = tell.clone();
        tokio::spawn(async move {
            while let Some(state) = observer.next().await {
                let _ = tell.send(change(&name, &state));
            }
        });
    }
    drop(tell);
    let code = loop {
        tokio::select! {
            change = complaints.unless_hopeless(changes.recv()) => match change {
                Ok(Some(change)) if shown(&change, settings.output) => {}
                // The reader is gone.
                Ok(_) => break Ok(ExitCode::SUCCESS),
                Err(failure) => break Err(failure),
            },
            signal = signals.end() => break Ok(exit::by_signal(signal.as_raw())),
        }
    };
    store::close(&coordinator, &code).await;
    code
}

fn change(name: &str, state: &MutexState) -> Change {
    let id = |owner: &tenure::model::MutexOwner| owner.owner_id().map(ToString::to_string);
    let (before, owner) = (id(&state.before), id(&state.after));
    Change {
        at: output::stamp(SystemTime::now()),
        name: name.to_owned(),
        event: match (&before, &owner) {
            (_, None) => "released",
            (None, Some(_)) => "acquired",
            (Some(_), Some(_)) => "changed",
        },
        token: state.after.token(),
        owner,
        before,
    }
}

fn shown(change: &Change, format: Format) -> bool {
    if format == Format::Json {
        return output::json(change);
    }
    let at = &change.at;
    // One change is one line, whatever a peer is called.
    let name = plain(&change.name);
    let before = plain(change.before.as_deref().unwrap_or("another"));
    let token = match change.token {
        Some(token) => format!(" with token {token}"),
        None => String::new(),
    };
    let owner = plain(change.owner.as_deref().unwrap_or("nobody"));
    output::data(&match change.event {
        "released" => format!("{at}  {name}  free; it was {before}'s"),
        "acquired" => format!("{at}  {name}  owned by {owner}{token}"),
        _ => format!("{at}  {name}  owned by {owner}{token}; it was {before}'s"),
    })
}
