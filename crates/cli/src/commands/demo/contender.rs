//! One of the demo's processes: stands, leads, writes, steps down.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use tenure::model::{ContenderId, ContenderIdGenerator};
use tenure::{CampaignEvent, Coordinator, Leadership};

use crate::exit;
use crate::signals::Signals;

pub(crate) const CONTENDER: &str = "__contender";

/// Takes a URL, an office and a name; says on stdout what happens to it, and
/// sends its writes there too.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let [url, office, name] = words.as_slice() else {
        return ExitCode::from(exit::USAGE);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let stood = runtime.map(|runtime| runtime.block_on(Box::pin(stand(url, office, name))));
    match stood {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            let _ = say(&format!("trouble {error}"));
            ExitCode::from(exit::UNAVAILABLE)
        }
        Err(_) => ExitCode::from(exit::SYSTEM),
    }
}

#[derive(Debug)]
struct Named(String);

impl ContenderIdGenerator for Named {
    fn generate(&self) -> tenure::Result<ContenderId> {
        ContenderId::new(format!("{}/{}", self.0, std::process::id()))
    }
}

async fn stand(url: &str, office: &str, name: &str) -> tenure::Result<()> {
    let ids = Named(name.to_owned());
    let coordinator = Coordinator::builder().ids(ids).connect(url).await?;
    let mut signals = Signals::listen().expect("signals can be listened to");
    let mut campaign = coordinator.elector(office)?.campaign();
    let mut pulse = tokio::time::interval(Duration::from_millis(100));
    let mut office: Option<Leadership> = None;
    let mut number = 0;
    let mut is_heard = say("standing");
    while is_heard {
        tokio::select! {
            event = campaign.next() => match event {
                Some(CampaignEvent::Elected(leadership)) => {
                    if let Ok(token) = leadership.tenure().token() {
                        is_heard = say(&format!("elected {token}"));
                        office = Some(leadership);
                    }
                }
                                Some(CampaignEvent::Trouble(error)) => is_heard = say(&format!("trouble {error}")),
                Some(_) => {}
                None => break,
            },
            _ = pulse.tick() => {}
            _ = signals.end() => break,
        }
        if let Some(leadership) = office.take() {
            // Asked before every effect: the clock decides, not the news.
            match leadership.tenure().token() {
                Ok(token) => {
                    number += 1;
                    is_heard = say(&format!("write {token} {number}"));
                    office = Some(leadership);
                }
                Err(lost) => is_heard = say(&format!("deposed {:?}", lost.cause)),
            }
        }
    }
    drop(office);
    drop(campaign);
    coordinator.close().await
}

/// False when nobody listens any more.
fn say(line: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .is_ok()
}
