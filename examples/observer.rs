//! An observer: who leads, known to those who do not stand.
//!
//! ```text
//! cargo run --example observer [URL]  # or TENURE_URL; otherwise memory:demo
//! ```

use std::time::Duration;

use tenure::model::ContenderId;
use tenure::{Coordinator, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let (observing, standing) = (connect().await?, connect().await?);
    let mut observer = observing.elector("demo-observer")?.observe()?;

    let leaders = ["first", "second"].map(|name| {
        let elector = standing.elector("demo-observer");
        tokio::spawn(async move {
            // A name that people know it by, instead of a generated id.
            let elector = elector?.with_id(ContenderId::new(name)?);
            let work = |_| tokio::time::sleep(Duration::from_secs(1));
            elector.lead(work).await
        })
    });

    let mut seen = Vec::new();
    while seen.len() < leaders.len() {
        let state = observer.next().await.expect("the coordinator is open");
        println!("{} → {}", name(&state.before), name(&state.after));
        seen.extend(state.after.owner_id().cloned());
    }
    for leader in leaders {
        leader.await.expect("the task does not panic")?;
    }
    standing.close().await?;
    observing.close().await
}

fn name(owner: &tenure::model::MutexOwner) -> &str {
    owner.owner_id().map_or("nobody", ContenderId::as_str)
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
