//! Waiting and holding as spans, exported to an OpenTelemetry collector.
//!
//! The library tells `tracing` what happens; what becomes of that is the
//! application's choice. Here it is a layer of `tracing-opentelemetry` and the
//! exporter of OTLP over HTTP. `docs/operations.md` lists the spans.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tenure::{CampaignEvent, Coordinator};
use tracing::Instrument;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

/// What can go wrong before anything is exported.
pub type SetupError = Box<dyn std::error::Error + Send + Sync>;

/// The way to the collector.
#[derive(Debug)]
pub struct Export(SdkTracerProvider);

impl Export {
    /// From now on the spans of this process go to the collector at `endpoint`,
    /// as in `http://localhost:4318/v1/traces`.
    ///
    /// # Errors
    /// When the endpoint is no URL, or another subscriber is installed.
    pub fn begin(endpoint: &str) -> Result<Self, SetupError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(endpoint)
            .build()?;
        let resource = Resource::builder().with_service_name("otel-example");
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        // Of locks the spans are at DEBUG, of offices at INFO. The exporter's own
        // HTTP client must not be among the targets.
        let wanted = Targets::new()
            .with_target("tenure", LevelFilter::DEBUG)
            .with_target("otel", LevelFilter::INFO);
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("otel-example"))
            .with_filter(wanted);
        registry().with(layer).try_init()?;
        Ok(Self(provider))
    }

    /// Exports what has not been exported, and ends. It blocks for as long as
    /// that takes.
    ///
    /// # Errors
    /// When the collector does not take it.
    pub fn end(self) -> OTelSdkResult {
        self.0.shutdown()
    }
}

/// A request that needs a lock which another has, and gets it: its trace shows
/// how long it waited, and how long it held it.
///
/// # Errors
/// When the store cannot be used.
///
/// # Cancel safety
/// Dropped, it gives back what it has.
pub async fn request(first: &Coordinator, second: &Coordinator) -> tenure::Result<()> {
    let guard = first.lock("report")?.acquire().await?;
    let request = async {
        let guard = second.lock("report")?.acquire().await?;
        // Here the report is written.
        tokio::time::sleep(Duration::from_millis(20)).await;
        guard.release().await
    };
    let request = request.instrument(tracing::info_span!("request", path = "/report"));
    let before = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        guard.release().await
    };
    let (before, request) = tokio::join!(before, request);
    before.and(request)
}

/// A term of office that begins in a span and outlasts it: a trace of its own,
/// linked to the one in which it began.
///
/// # Errors
/// When the store cannot be used.
///
/// # Cancel safety
/// Dropped, it gives back what it has.
pub async fn office(coordinator: &Coordinator) -> tenure::Result<()> {
    let mut campaign =
        tracing::info_span!("start").in_scope(|| coordinator.elector("billing")?.campaign())?;
    while let Some(event) = campaign.next().await {
        if let CampaignEvent::Elected(leadership) = event {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return leadership.resign().await;
        }
    }
    Ok(())
}
