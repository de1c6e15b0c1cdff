//! `tenure lead`: stand for leader for ever, and run a command while leading.

mod office;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::{CampaignEvent, Coordinator, Leadership};

use self::office::Office;
use super::{grace, lock};
use crate::args::Lead;
use crate::complaints::Complaints;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{Voice, brief};
use crate::place;
use crate::probes::Probes;
use crate::signals::Signals;
use crate::store;
use crate::supervise::{End, Task, supervise};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) async fn lead(
    lead: Lead,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let probes = Probes::serve(lead.probed.address(), voice).await?;
    let office = Office::new(&lead.name);
    office.answer_on(&probes);
    let coordinator = tokio::select! {
        opened = store::wait_for(settings, lead.fail_fast, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    probes.opened(&coordinator);
    office.opened();
    let code = campaign(&lead, &office, settings, &coordinator, &mut signals, voice).await;
    store::close(&coordinator, &code).await;
    code
}

async fn campaign(
    lead: &Lead,
    office: &Office,
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
    let mut complaints = Complaints::about(coordinator, 1, voice);
    let elector = coordinator.elector(&lead.name)?;
    lock::refuse_waiting_for_ourselves(coordinator, elector.name()).await?;
    let mut campaign = elector.campaign()?;
    let mut has_led = false;
    loop {
        let event = tokio::select! {
            event = complaints.unless_hopeless(campaign.next()) => event?,
            signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
        };
        match event {
            Some(CampaignEvent::Elected(leadership)) => {
                office.elected(leadership.tenure());
                let token = leadership.tenure().token();
                let token = token.map_or_else(|lost| lost.token, Some);
                let token = token.map_or_else(String::new, |token| format!(", token {token}"));
                let again = if has_led { " again" } else { "" };
                voice.warn(&format_args!("leading {}{again}{token}", lead.name));
                has_led = true;
                // However hopeless: what runs has its time to end.
                let term = in_office(lead, task, leadership, signals, voice);
                match complaints.telling(term).await? {
                    TermEnd::Ended(code) => return Ok(code),
                    TermEnd::Lost(why) => voice.warn(&format_args!(
                        "leads {} no more: {why}; standing again",
                        lead.name
                    )),
                }
            }
            Some(CampaignEvent::Observed(state)) => office.observed(&state.after),
            Some(_) => {}
            None => return Err(Failure::new(exit::SYSTEM, "the campaign has ended")),
        }
    }
}

/// Why a term is over.
enum TermEnd {
    /// The program ends with it.
    Ended(ExitCode),
    /// The office was lost.
    Lost(String),
}

/// Runs the command for as long as the office lasts.
async fn in_office(
    lead: &Lead,
    task: Task<'_>,
    leadership: Leadership,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<TermEnd, Failure> {
    let tenure = leadership.tenure();
    let mut pause = FIRST_PAUSE;
    loop {
        let start = Instant::now();
        let end = match supervise(task, tenure, signals, voice).await {
            Err(failure) if failure.code == exit::LOST => {
                return Ok(TermEnd::Lost(failure.message));
            }
            end => end?,
        };
        if !end.left.is_empty() {
            // A second one beside what is left of the first would be two, also
            // in another term of office.
            return Ok(TermEnd::Ended(ExitCode::from(exit::STILL_RUNNING)));
        }
        // Asked to end comes first: the one who stops us wants no new office.
        if end.asked.is_some() {
            return Ok(TermEnd::Ended(exit::as_command(&end)));
        }
        if end.is_loss() {
            return Ok(TermEnd::Lost(why(&end)));
        }
        if lead.once {
            return Ok(TermEnd::Ended(exit::as_command(&end)));
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
            slept = tenure.protect(tokio::time::sleep(pause)) => if let Err(lost) = slept {
                return Ok(TermEnd::Lost(lost.cause.to_string()));
            },
            signal = signals.end() => {
                return Ok(TermEnd::Ended(exit::by_signal(signal.as_raw())));
            }
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why the office was lost, by the end of the command that ran in it.
fn why(end: &End) -> String {
    match &end.lost {
        Some(lost) => lost.cause.to_string(),
        None => "it was not renewed in time, and the command was stopped".into(),
    }
}
