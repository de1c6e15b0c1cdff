//! `tenure doctor`: is the store well, and set up as it should be.

mod trial;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tenure::backend::{Finding, LeaseBound, Severity, StoreClock, Wakeup};
use tenure::model::MutexName;
use tenure::{Coordinator, ErrorKind};

use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, brief, plain};
use crate::store;

/// Clocks that are further apart than this are not kept in time.
const CLOCKS_APART: Duration = Duration::from_secs(5);

/// One finding, as JSON.
#[derive(Debug, Serialize)]
struct Row<'a> {
    severity: &'static str,
    subject: &'a str,
    detail: &'a str,
    remedy: &'a str,
}

pub(crate) async fn doctor(settings: &Settings, voice: &Voice) -> Result<ExitCode, Failure> {
    let mut findings = vec![Finding::good("version", env!("CARGO_PKG_VERSION"))];
    let start = Instant::now();
    let mut code = 0;
    match store::open(settings, voice).await {
        Ok(coordinator) => {
            let opened = format!("opened in {}", brief(start.elapsed()));
            findings.push(Finding::good("reachable", opened));
            findings.push(behaviour(&coordinator));
            findings.extend(clock(&coordinator).await);
            findings.extend(coordinator.check().await?);
            // Contenders of one client would hand the lock over among themselves.
            let other = store::open(settings, &Voice::new(true, 0)).await?;
            findings.extend(trial::trial(&coordinator, &other).await);
            let _ = tokio::join!(coordinator.close(), other.close());
        }
        Err(failure) if failure.code == exit::USAGE => return Err(failure),
        Err(failure) => {
            code = exit::UNAVAILABLE;
            findings.push(Finding::bad(
                "reachable",
                failure.message,
                remedy(failure.kind),
            ));
        }
    }
    for finding in &findings {
        show(finding, settings.output);
    }
    let is_well = findings
        .iter()
        .all(|finding| finding.severity == Severity::Good);
    if code == 0 && !is_well {
        code = exit::FAILED;
    }
    Ok(ExitCode::from(code))
}

/// What to do about a store that cannot be opened.
fn remedy(kind: Option<ErrorKind>) -> &'static str {
    match kind {
        Some(ErrorKind::Denied) => {
            "see whether user and password of the URL are right, and what this user may do"
        }
        Some(ErrorKind::NotFound) => {
            "see that it is made: by hand, by tenure init, or with what tenure init --print prints"
        }
        Some(ErrorKind::Conflict) => "change it as said, or name another in the URL",
        _ => {
            "see whether it is up, and whether the URL's place is right and can be reached from here"
        }
    }
}

/// How far this host's clock is from the store's, where that is a server's own. Leases do not depend on it, but schedules by cron follow the
/// store's.
async fn clock(coordinator: &Coordinator) -> Option<Finding> {
    if coordinator.profile().clock != StoreClock::ServerWall {
        return None;
    }
    let name = MutexName::new(trial::NAME).ok()?;
    let sent = SystemTime::now();
    let now = coordinator.store_time(&name).await.ok()?;
    let took = sent.elapsed().unwrap_or_default();
    let here = (sent + took / 2)
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    let there = Duration::from_millis(now.as_millis());
    let (apart, which) = match there.checked_sub(here) {
        Some(ahead) => (ahead, "ahead of"),
        None => (here - there, "behind"),
    };
    let detail = format!("the store's is {} {which} this host's", brief(apart));
    Some(if apart > CLOCKS_APART {
        Finding::warning(
            "clock",
            detail,
            "let both follow the same time servers: leases do not mind, schedules by --cron go by \
             the store's clock",
        )
    } else {
        Finding::good("clock", detail)
    })
}

fn behaviour(coordinator: &Coordinator) -> Finding {
    let profile = coordinator.profile();
    let wakeup = match profile.wakeup {
        Wakeup::Push => "waiters are woken".to_owned(),
        Wakeup::Poll(every) => format!("waiters look every {}", brief(every)),
        other => format!("waiters are woken by {other:?}"),
    };
    let terms = coordinator.terms();
    let bound = match profile.bound {
        LeaseBound::Session(_) => " (the session's)",
        _ => "",
    };
    Finding::good(
        "store",
        format!(
            "{}; {wakeup}; ttl {}, transition {}{bound}",
            profile.scheme,
            brief(terms.ttl()),
            brief(terms.transition())
        ),
    )
}

fn show(finding: &Finding, format: Format) {
    let severity = match finding.severity {
        Severity::Good => "good",
        Severity::Warning => "warning",
        _ => "bad",
    };
    if format == Format::Json {
        output::json(&Row {
            severity,
            subject: &finding.subject,
            detail: &finding.detail,
            remedy: &finding.remedy,
        });
        return;
    }
    output::data(&format_args!(
        "{severity:<8} {}: {}",
        plain(&finding.subject),
        plain(&finding.detail)
    ));
    if !finding.remedy.is_empty() {
        output::data(&format_args!("         {}", plain(&finding.remedy)));
    }
}
