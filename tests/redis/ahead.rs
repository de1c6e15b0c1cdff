//! A ledger whose token is larger than the leader's: a server that lost its count, or a
//! person who wrote it.

use std::time::Duration;

use tenure::Coordinator;
use tenure::model::FencingToken;
use tenure::schedule::{ScheduleConfig, Tick};
use tokio::sync::mpsc;

use crate::support::{PATIENCE, fresh, shared, url};

/// It can claim nothing for as long as it leads: so it makes room, also for itself, and the
/// next token may be large enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_behind_the_ledger_leaves_its_office() {
    let name = fresh("ahead");
    let url = format!("{}?ttl=500ms&transition=500ms", url(shared()));
    let coordinator = Coordinator::connect(url).await.unwrap();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(50)).unwrap();
    let scheduler = coordinator.scheduler(name.as_str(), config).unwrap();
    let (tell, mut ticks) = mpsc::unbounded_channel();
    let running = tokio::spawn(async move {
        let run = |tick: Tick| {
            drop(tell.send(tick.tenure().token()));
            async {}
        };
        scheduler.run(run).await
    });
    let first = ticks.recv().await.unwrap().unwrap();
    // Of a grant half a second later: the server's clock passes it soon.
    let ahead = FencingToken::from_store(first.store() + 500_000).unwrap();
    let (key, token) = (format!("simba:{{{name}}}:schedule"), ahead.to_string());
    let ledger = ["HSET", &*key, "token", &*token];
    shared().command(&ledger).unwrap();
    let again = async {
        loop {
            match ticks.recv().await.unwrap() {
                Ok(token) if token > ahead => return,
                _ => {}
            }
        }
    };
    let ran = tokio::time::timeout(PATIENCE, again).await;
    assert!(ran.is_ok(), "it leads, and runs nothing");
    coordinator.close().await.unwrap();
    drop(running.await.unwrap());
}
