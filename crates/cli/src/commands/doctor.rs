//! `tenure doctor`: is the store well, and set up as it should be.

use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use tenure::Coordinator;
use tenure::backend::{Finding, LeaseBound, Severity, Wakeup};

use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{self, Format, Voice, brief};
use crate::store;

/// One finding, as JSON.
#[derive(Debug, Serialize)]
struct Row<'a> {
    severity: &'static str,
    subject: &'a str,
    detail: &'a str,
    remedy: &'a str,
}

pub(crate) async fn doctor(settings: &Settings, voice: &Voice) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let coordinator = store::open(settings, voice).await?;
    let mut findings = vec![Finding::good("version", env!("CARGO_PKG_VERSION"))];
    findings.push(Finding::good(
        "reachable",
        format!("opened in {}", brief(start.elapsed())),
    ));
    findings.push(behaviour(&coordinator));
    findings.extend(coordinator.check().await?);
    let _ = coordinator.close().await;
    for finding in &findings {
        show(finding, settings.output);
    }
    let is_well = findings
        .iter()
        .all(|finding| finding.severity == Severity::Good);
    Ok(ExitCode::from(if is_well { 0 } else { exit::FAILED }))
}

fn behaviour(coordinator: &Coordinator) -> Finding {
    let profile = coordinator.profile();
    let wakeup = match profile.wakeup {
        Wakeup::Push => "waiters are woken".to_owned(),
        Wakeup::Poll(every) => format!("waiters look every {}", brief(every)),
    };
    let terms = coordinator.terms();
    let bound = match profile.bound {
        LeaseBound::Terms => "",
        LeaseBound::Session(_) => " (the session's)",
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
        Severity::Bad => "bad",
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
        finding.subject, finding.detail
    ));
    if !finding.remedy.is_empty() {
        output::data(&format_args!("         {}", finding.remedy));
    }
}
