//! Spans for the collector of this host:
//!
//! ```console
//! $ docker run -p 4318:4318 otel/opentelemetry-collector
//! $ cargo run -p otel [http://host:4318/v1/traces]
//! ```

use otel::{Export, SetupError, office, request};
use tenure::Coordinator;

#[tokio::main]
async fn main() -> Result<(), SetupError> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint
        .as_deref()
        .unwrap_or("http://localhost:4318/v1/traces");
    let export = Export::begin(endpoint)?;
    let store = tenure::stores::memory::Memory::new();
    let terms = tenure::model::LeaseTerms::default();
    let first = Coordinator::with_backend(store.clone(), terms)?;
    let second = Coordinator::with_backend(store, terms)?;
    request(&first, &second).await?;
    office(&first).await?;
    first.close().await?;
    second.close().await?;
    tokio::task::spawn_blocking(|| export.end()).await??;
    println!("exported to {endpoint}");
    Ok(())
}
