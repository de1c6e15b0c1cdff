//! A campaign: an election event by event, for those who run their own loop.
//!
//! ```text
//! cargo run --example campaign [URL]  # or TENURE_URL; otherwise memory:demo
//! ```

use std::time::Duration;

use tenure::{CampaignEvent, Coordinator, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let coordinator = connect().await?;
    let mut campaign = coordinator.elector("demo-campaign")?.campaign()?;
    let mut office = None;
    let mut terms = 0;

    while let Some(event) = campaign.next().await {
        match event {
            CampaignEvent::Elected(leadership) => {
                terms += 1;
                println!("elected, with {}", leadership.tenure().token()?);
                tokio::time::sleep(Duration::from_millis(200)).await;
                if terms == 1 {
                    println!("resigning, and standing again");
                    leadership.resign().await?;
                } else {
                    office = Some(leadership);
                    // In the middle of a term: `close` asks for the office back
                    // and waits until it has been dropped.
                    let closing = coordinator.clone();
                    tokio::spawn(async move { closing.close().await });
                }
            }
            CampaignEvent::Deposed(lost) => {
                println!("deposed: {lost}");
                office = None; // end the work first, then drop the office
            }
            CampaignEvent::Observed(state) => match state.after.owner_id() {
                Some(leader) => println!("the leader is {leader}"),
                None => println!("nobody leads"),
            },
            CampaignEvent::Trouble(error) => println!("will be tried again: {error}"),
            _ => {} // there may be more kinds one day
        }
    }
    assert!(office.is_none());
    println!("the campaign is over after {terms} terms");
    Ok(())
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
