//! `tenure revoke`: free a mutex by force.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;
use tenure::model::{FencingToken, MutexName};

use super::waiting;
use crate::args::Revoke;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice};
use crate::store;

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done<'a> {
    name: &'a str,
    revoked: bool,
    owner: Option<&'a str>,
    token: Option<FencingToken>,
}

pub(crate) async fn revoke(
    revoke: Revoke,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let name = MutexName::new(&revoke.name)?;
    let token = revoke.token.as_deref().map(str::parse).transpose()?;
    if !revoke.yes && !std::io::stdin().is_terminal() {
        return Err(Failure::usage("there is nobody to ask: give --yes"));
    }
    let coordinator = store::open(settings, voice).await?;
    let seen = coordinator.owner(&name).await?;
    let by = waiting::described(&seen);
    let question = match &by {
        Some(by) => format!(
            "{name} is owned by {by}. Its owner is not asked, and works on until its next \
             renewal fails. Free it?"
        ),
        None => format!("{name} is free. Free it all the same?"),
    };
    if !revoke.yes && !confirmed(&question) {
        return Err(Failure::new(exit::FAILED, "nothing was done"));
    }
    // What the person saw is what is freed, not who came meanwhile.
    let token = token.or_else(|| seen.owner().token().filter(|_| by.is_some()));
    let answer = coordinator.revoke(&name, token).await?;
    let _ = coordinator.close().await;
    let owner = seen.owner().owner_id().filter(|_| by.is_some());
    if settings.output == Format::Json {
        output::json(&Done {
            name: name.as_str(),
            revoked: answer.is_won(),
            owner: owner.map(tenure::model::ContenderId::as_str),
            token,
        });
    } else if answer.is_won() {
        voice.warn(&format_args!("{name} has been freed"));
    }
    if answer.is_won() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new(
        exit::FAILED,
        format!("{name} was not freed: it is free already, or owned with another token"),
    ))
}

fn confirmed(question: &str) -> bool {
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{question} [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}
