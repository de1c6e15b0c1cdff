//! A fleet that has lost its sessions at one moment.

use std::time::Duration;

use tenure::backend::Backend as _;
use tenure::model::MutexName;
use tenure_testkit::servers::ZooKeeper;
use tokio::time::Instant;

use crate::support::{PATIENCE, client};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_were_lost_together_are_not_made_together() {
    const CLIENTS: usize = 24;
    let server = ZooKeeper::start().unwrap();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let one = client(server.address(), "?session_timeout=8s").await;
        clients.push(one.unwrap());
    }
    let back = clients.into_iter().map(|client| {
        tokio::spawn(async move {
            let name = MutexName::new("any").unwrap();
            // Until it has heard that the server is gone.
            while client.owner(&name).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let start = Instant::now();
            while client.owner(&name).await.is_err() {
                assert!(start.elapsed() < PATIENCE, "no session");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Instant::now()
        })
    });
    let back: Vec<_> = back.collect();
    // All it knew is gone, and with it every session.
    server.restart_empty().unwrap();
    let mut made = Vec::new();
    for back in back {
        made.push(back.await.unwrap());
    }
    made.sort_unstable();
    let busiest = made.iter().map(|first| {
        let together = *first..*first + Duration::from_millis(250);
        made.iter().filter(|at| together.contains(at)).count()
    });
    let busiest = busiest.max().unwrap();
    eprintln!("at most {busiest} of {CLIENTS} sessions in 250 ms");
    assert!(busiest <= CLIENTS / 2, "{busiest} of {CLIENTS} in 250 ms");
}
