//! A leader: three processes stand for election, and each leads in its turn.
//!
//! ```text
//! cargo run --example leader [URL]    # or TENURE_URL; otherwise memory:demo
//! ```

use std::time::Duration;

use tenure::{Coordinator, Result, Tenure};

#[tokio::main]
async fn main() -> Result<()> {
    let mut candidates = Vec::new();
    for name in ["Ada", "Barbara", "Grace"] {
        let coordinator = connect().await?;
        candidates.push(tokio::spawn(async move {
            let elector = coordinator.elector("demo-leader")?;
            // Stands until elected; if the office is lost on the way, the work
            // is dropped and begins anew with the next tenure.
            let done = elector.lead(|tenure| govern(name, tenure)).await?;
            println!("{name} resigned after {done} decisions");
            coordinator.close().await
        }));
    }
    for candidate in candidates {
        candidate.await.expect("the task does not panic")?;
    }
    Ok(())
}

async fn govern(name: &str, tenure: Tenure) -> u32 {
    println!("{name} leads as {}", tenure.contender());
    for decision in 1..=3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Before every effect: is it still ours? What it returns goes along to
        // whatever must not be written by two.
        let Ok(token) = tenure.token() else {
            return decision - 1;
        };
        println!("{name} decides, with token {token}");
    }
    3
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
