//! `tenure lead`: stand for leader for ever, and run a command while leading.

mod http;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::{CampaignEvent, Coordinator, Leadership};

use super::grace;
use crate::args::Lead;
use crate::config::Settings;
use crate::exit::{self, Failure, told};
use crate::output::{Voice, brief};
use crate::place;
use crate::signals::Signals;
use crate::store;
use crate::supervise::{Task, supervise};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) async fn lead(
    lead: Lead,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let coordinator = tokio::select! {
        opened = store::wait_for(settings, lead.fail_fast, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    let code = campaign(&lead, settings, &coordinator, &mut signals, voice).await;
    let _ = coordinator.close().await;
    code
}

async fn campaign(
    lead: &Lead,
    settings: &Settings,
    coordinator: &Coordinator,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let grace = grace(lead.job.grace, coordinator)?;
    let task = Task {
        command: &lead.job.command,
        environment: &place::handed_on(settings, lead.job.pass_url),
        grace,
        limit: None,
    };
    let office = http::Office::new(&lead.name);
    if let Some(address) = &lead.http {
        let served = http::serve(address, office.clone()).await;
        let at = served.map_err(|error| Failure::usage(format!("--http {address}: {error}")))?;
        voice.detail(&format_args!("answering on http://{at}/leader"));
    }
    let mut campaign = coordinator.elector(&lead.name)?.campaign();
    loop {
        let event = tokio::select! {
            event = campaign.next() => event,
            signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
        };
        match event {
            Some(CampaignEvent::Elected(leadership)) => {
                office.elected(leadership.tenure());
                voice.detail(&format_args!("leading {}", lead.name));
                if let Some(code) = in_office(lead, task, leadership, signals, voice).await? {
                    return Ok(code);
                }
                voice.warn(&format_args!("leads {} no more; standing again", lead.name));
            }
            Some(CampaignEvent::Trouble(error)) => {
                voice.warn(&format_args!("will try again: {}", told(&error)));
            }
            Some(CampaignEvent::Observed(state)) => office.observed(&state.after),
            Some(_) => {}
            None => return Err(Failure::new(exit::SYSTEM, "the campaign has ended")),
        }
    }
}

/// Runs the command for as long as the office lasts. `None`: it was lost.
async fn in_office(
    lead: &Lead,
    task: Task<'_>,
    leadership: Leadership,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<Option<ExitCode>, Failure> {
    let tenure = leadership.tenure();
    let mut pause = FIRST_PAUSE;
    loop {
        let start = Instant::now();
        let end = match supervise(task, tenure, signals, voice).await {
            Err(failure) if failure.code == exit::LOST => return Ok(None),
            end => end?,
        };
        // Asked to end comes first: whoever stops us wants no new office.
        if end.asked.is_some() {
            return Ok(Some(exit::as_command(&end)));
        }
        if end.is_loss() {
            return Ok(None);
        }
        if !end.left.is_empty() {
            // A second one beside what is left of the first would be two.
            return Ok(Some(ExitCode::from(exit::STILL_RUNNING)));
        }
        if lead.once {
            return Ok(Some(exit::as_command(&end)));
        }
        if start.elapsed() >= LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        voice.warn(&format_args!(
            "the command ended with {}; starting it again in {}",
            exit::code_of(end.status),
            brief(pause)
        ));
        tokio::select! {
            slept = tenure.protect(tokio::time::sleep(pause)) => if slept.is_err() {
                return Ok(None);
            },
            signal = signals.end() => return Ok(Some(exit::by_signal(signal.as_raw()))),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
