//! What can be said of the arguments before anything is opened: what is
//! refused here has made no file, no folder and no row.

use std::time::Duration;

use tenure::backend::url::StoreUrl;
use tenure::model::{ContenderId, ContenderIdGenerator, FencingToken, MutexName};

use super::{Command, Probed};
use crate::commands::{grace_within, schedule_config};
use crate::config::Settings;
use crate::exit::Failure;
use crate::store;

/// Whether `command` under `settings` makes sense.
pub(crate) fn check(command: &Command, settings: &Settings) -> Result<(), Failure> {
    match command {
        Command::Run(run) => {
            name(&run.name)?;
            some_time("--once-per", run.once_per)?;
            probed(&run.probed)?;
        }
        Command::Hold(hold) => name(&hold.name)?,
        Command::Lead(lead) => {
            name(&lead.name)?;
            probed(&lead.probed)?;
        }
        Command::Schedule(schedule) => {
            schedule.name.as_deref().map_or(Ok(()), name)?;
            schedule_config(schedule)?;
            some_time("--timeout", schedule.timeout)?;
            probed(&schedule.probed)?;
        }
        Command::Watch(watch) => watch.names.iter().try_for_each(|text| name(text))?,
        Command::Revoke(revoke) => {
            let token = revoke.token.as_deref().map(str::parse::<FencingToken>);
            token.transpose()?;
        }
        #[cfg(feature = "http")]
        Command::Dashboard(dashboard) => {
            address("--listen", &dashboard.listen)?;
            dashboard.host.iter().try_for_each(|name| host(name))?;
            probed(&dashboard.probed)?;
        }
        _ => {}
    }
    if let Some(id) = &settings.id {
        ContenderId::new(id)?;
        // With what is added to it.
        store::Called(id.clone()).generate()?;
    }
    let url = settings.url.as_deref().unwrap_or("sqlite:tenure.db");
    let url = StoreUrl::parse(&store::with_terms(url, settings.ttl, settings.transition))?;
    tenure::stores::check(&url.clone().into())?;
    let terms = url.options().terms()?.unwrap_or_default();
    let grace = match command {
        Command::Run(run) => run.job.grace,
        Command::Hold(hold) => hold.grace,
        Command::Lead(lead) => lead.job.grace,
        Command::Schedule(schedule) => schedule.grace,
        _ => None,
    };
    grace_within(grace, terms.transition())?;
    Ok(())
}

fn name(text: &str) -> Result<(), Failure> {
    MutexName::new(text)?;
    Ok(())
}

fn some_time(option: &str, length: Option<Duration>) -> Result<(), Failure> {
    match length {
        Some(Duration::ZERO) => Err(Failure::usage(format!(
            "{option} takes at least 1ms, as in 10s"
        ))),
        _ => Ok(()),
    }
}

fn probed(probed: &Probed) -> Result<(), Failure> {
    let http = probed.address();
    http.map_or(Ok(()), |at| address("--http", at))
}

/// A name of a host or an address, without a port.
#[cfg(feature = "http")]
fn host(text: &str) -> Result<(), Failure> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_name = text.len() <= 253 && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if (is_name && text.chars().all(is_letter)) || text.parse::<std::net::IpAddr>().is_ok() {
        return Ok(());
    }
    let shown: String = text.chars().take(60).collect();
    Err(Failure::usage(format!(
        "--host takes the name of a host, as in dash.example, not {shown:?}"
    )))
}

/// Only its form: whether it can be listened on is known by trying.
fn address(option: &str, text: &str) -> Result<(), Failure> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", ""));
    let odd = |c: char| c.is_whitespace() || c.is_control();
    let is_bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || host.contains(odd) || is_bare_ipv6 || port.parse::<u16>().is_err() {
        let shown: String = text.chars().take(60).collect();
        return Err(Failure::usage(format!(
            "{option} takes HOST:PORT, as in 127.0.0.1:4080 or [::1]:4080, not {shown:?}"
        )));
    }
    Ok(())
}
