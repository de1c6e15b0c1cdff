//! `tenure dashboard`: who owns what, for a browser.

mod token;

use std::process::ExitCode;

use tenure::backend::url::StoreUrl;
use tenure_dashboard::site::{BindError, Dashboard, DashboardOptions};

use crate::args;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::metrics::Registry;
use crate::output::{self, Format, Voice};
use crate::probes::Probes;
use crate::signals::Signals;
use crate::store;

pub(crate) async fn dashboard(
    dashboard: args::Dashboard,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let token = token::read(dashboard.token_file.as_deref(), voice)?;
    let registry = Registry::install();
    let probes = match dashboard.probed.address() {
        Some(address) => Probes::serve_with(address, registry.clone(), voice).await?,
        None => Probes::default(),
    };
    let coordinator = tokio::select! {
        opened = store::open(settings, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    let options = options(&dashboard, token, settings, registry, voice)?;
    let server = Dashboard::bind(&dashboard.listen, coordinator.clone(), options).await;
    let server = server.map_err(|error| refused(&dashboard, &error))?;
    probes.ready_when(server.readiness());
    if !server.is_local() {
        tell_of_others(&dashboard, &server, voice);
    }
    let url = server.url();
    match settings.output {
        Format::Human => output::data(&url),
        Format::Json => output::json(&serde_json::json!({ "url": url })),
    };
    let mut ended_by = None;
    server
        .run(async { ended_by = Some(signals.end().await) })
        .await;
    let _ = coordinator.close().await;
    Ok(ended_by.map_or(ExitCode::SUCCESS, |signal| exit::by_signal(signal.as_raw())))
}

fn options(
    dashboard: &args::Dashboard,
    token: Option<String>,
    settings: &Settings,
    registry: Registry,
    voice: &Voice,
) -> Result<DashboardOptions, Failure> {
    let voice = voice.clone();
    let mut options = DashboardOptions::default()
        // It shows itself without secrets.
        .store(StoreUrl::parse(&store::url(settings)?)?.to_string())
        .allow_revoke(dashboard.allow_revoke)
        .open_to_all(dashboard.open_to_all)
        .metrics(move || registry.text())
        .log(move |text| voice.warn(&text));
    for name in &dashboard.host {
        options = options.host(name);
    }
    if let Some(token) = token {
        options = options.token(token);
    }
    if let (Some(certificate), Some(key)) = (&dashboard.tls_cert, &dashboard.tls_key) {
        options = options.tls(certificate, key);
    }
    Ok(options)
}

fn refused(dashboard: &args::Dashboard, error: &BindError) -> Failure {
    let listen = &dashboard.listen;
    // What lets others come.
    let way = match dashboard.host.first() {
        Some(name) => format!("--listen {listen} --host {name}"),
        None => format!("--listen {listen}"),
    };
    Failure::usage(match error {
        BindError::Tls(why) => format!("--tls-cert and --tls-key: {why}"),
        BindError::NeedsToken(_) => {
            format!("{way}: {error}: give --token-file FILE, or --open-to-all if they may come")
        }
        BindError::RevokeNeedsToken(_) => {
            format!("{way}: {error}: give --token-file FILE")
        }
        BindError::ShortToken(_) => {
            format!("{way}: {error}: openssl rand -hex 32 makes a good one")
        }
        error => {
            let hint = "an address is HOST:PORT, as in 127.0.0.1:4080";
            format!("--listen {listen}: {error}; {hint}")
        }
    })
}

/// What a person should know of a server that others can reach.
fn tell_of_others(dashboard: &args::Dashboard, server: &Dashboard, voice: &Voice) {
    let at = server.address();
    if dashboard.open_to_all {
        voice.warn(&format_args!(
            "everyone who can reach {at} sees all names and owners: there is no password"
        ));
    }
    if dashboard.tls_cert.is_none() {
        voice.warn(&format_args!(
            "{at} is without TLS: who listens on the way reads everything, also a token; give \
             --tls-cert and --tls-key, or put a proxy with TLS before it"
        ));
    }
}
