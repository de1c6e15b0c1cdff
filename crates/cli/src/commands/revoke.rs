//! `tenure revoke`: free a mutex by force.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use serde::Serialize;
use tenure::model::{FencingToken, MutexName};
use tenure::{Coordinator, Revocation};
use tenure_dashboard::status::found;

use super::waiting;
use crate::args::Revoke;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, plain};
use crate::store;

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done<'a> {
    name: &'a str,
    revoked: bool,
    owner: Option<&'a str>,
    token: Option<FencingToken>,
    /// Told only where it is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    owner_goes_on: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a str>,
}

pub(crate) async fn revoke(
    revoke: Revoke,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let token = revoke.token.as_deref().map(str::parse).transpose()?;
    if !revoke.yes && !std::io::stdin().is_terminal() {
        return Err(Failure::usage("there is nobody to ask: give --yes"));
    }
    let coordinator = store::open(settings, voice).await?;
    let seen = find(&coordinator, &revoke.name).await?;
    let shown = plain(&revoke.name);
    let done = |revoked, token| Done {
        name: &revoke.name,
        revoked,
        owner: seen.owner.as_deref(),
        token,
        owner_goes_on: seen.goes_on,
        fault: seen.fault.as_deref(),
    };
    if seen.goes_on && !revoke.even_if_its_owner_goes_on {
        if settings.output == Format::Json {
            output::json(&done(false, seen.token));
        }
        let _ = coordinator.close().await;
        return Err(Failure::new(
            exit::FAILED,
            format!(
                "nothing was done: {} End that program instead; to free it all the same, give \
             --even-if-its-owner-goes-on",
                unaware(&shown, &seen)
            ),
        ));
    }
    let question = match &seen {
        Seen {
            fault: Some(fault), ..
        } => format!(
            "{shown} is damaged: {}. What cannot be made out of it is removed. Mend it?",
            plain(fault)
        ),
        Seen { goes_on: true, .. } => format!("{} Free it?", unaware(&shown, &seen)),
        Seen { by: Some(by), .. } => format!(
            "{shown} is owned by {by}. Its owner is not asked, and works on until its next \
             renewal fails. Free it?"
        ),
        _ => format!("{shown} is free. Free it all the same?"),
    };
    if !revoke.yes && !confirmed(&question) {
        return Err(Failure::new(exit::FAILED, "nothing was done"));
    }
    if revoke.yes && seen.goes_on {
        voice.warn(&unaware(&shown, &seen));
    }
    // What the person saw is what is freed, not who came meanwhile.
    let token = token.or(seen.token);
    let revocation = coordinator.revoke_found(&seen.name, token).await?;
    let _ = coordinator.close().await;
    if settings.output == Format::Json {
        output::json(&done(revocation.is_freed(), token));
    } else if revocation.is_freed() {
        let what = if seen.fault.is_some() {
            "mended"
        } else {
            "freed"
        };
        voice.warn(&format_args!("{shown} has been {what}"));
    }
    let why = match &revocation {
        Revocation::Freed(_) => return Ok(ExitCode::SUCCESS),
        Revocation::OwnedByAnother(owner) => match owner.token() {
            Some(token) => format!("{owner} owns it with another token, {token}"),
            None => format!("{owner} owns it, without that token"),
        },
        _ => "it is free already".into(),
    };
    let message = format!("{shown} was not freed: {}", plain(&why));
    Err(Failure::new(exit::FAILED, message))
}

/// What is about to be freed.
struct Seen {
    name: MutexName,
    owner: Option<String>,
    /// The owner, described.
    by: Option<String>,
    token: Option<FencingToken>,
    /// It does not learn of it.
    goes_on: bool,
    fault: Option<String>,
}

/// What becomes of an owner that does not learn of it.
fn unaware(shown: &str, seen: &Seen) -> String {
    let by = seen.by.as_deref().unwrap_or("another");
    format!(
        "{shown} is owned by {by}, a program of another kind (Curator's latch) that does not learn \
         of it: it goes on believing to own beside whoever owns next, until it is ended."
    )
}

/// What the store has under `text`.
async fn find(coordinator: &Coordinator, text: &str) -> Result<Seen, Failure> {
    let mut seen = Seen {
        name: MutexName::found(text),
        owner: None,
        by: None,
        token: None,
        goes_on: false,
        fault: None,
    };
    if !coordinator.has_inventory() {
        return Ok(seen);
    }
    let Some((entry, now)) = found(coordinator, text).await? else {
        return Ok(seen);
    };
    seen.goes_on = entry.owner_goes_on;
    if let Some(owner) = entry.owner.at(now) {
        seen.by = Some(waiting::described(&owner));
        seen.owner = Some(owner.id().to_string());
        seen.token = owner.token();
    }
    seen.fault = entry.fault.map(Into::into);
    if seen.fault.is_some() {
        // By force, whatever its token: that may be what is wrong.
        seen.token = None;
    }
    seen.name = entry.name;
    Ok(seen)
}

fn confirmed(question: &str) -> bool {
    output::ask(&format!("{question} [y/N]"));
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}
