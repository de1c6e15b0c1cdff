//! `tenure dashboard`: who owns what, for a browser.

use std::process::ExitCode;

use tenure_dashboard::site::Dashboard;

use crate::args;
use crate::config::Settings;
use crate::exit::{self, Failure};
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
    let probes = Probes::serve(dashboard.probed.http.as_deref(), voice).await?;
    let coordinator = tokio::select! {
        opened = store::open(settings, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    probes.opened(&coordinator);
    let listen = &dashboard.listen;
    let server = Dashboard::bind(listen, coordinator.clone())
        .await
        .map_err(|error| {
            let hint = "an address is HOST:PORT, as in 127.0.0.1:4080";
            Failure::usage(format!("--listen {listen}: {error}; {hint}"))
        })?;
    let at = server.address();
    if !server.is_local() {
        voice.warn(&format_args!(
            "everyone who can reach {at} sees all names and owners: there is no password"
        ));
    }
    let url = format!("http://{at}/");
    match settings.output {
        Format::Human => output::data(&url),
        Format::Json => output::json(&serde_json::json!({ "url": url })),
    };
    let signal = tokio::select! {
        () = server.run() => unreachable!("it runs for ever"),
        signal = signals.end() => signal,
    };
    let _ = coordinator.close().await;
    Ok(exit::by_signal(signal.as_raw()))
}
