//! One lock over several independent Redis servers: some of them may die.
//!
//! `cargo run --example combination_lock --features redis -- redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3`

use std::time::Duration;

use tenure::{CombinationBuilder, CombinationLock, Holder};

async fn book(lock: &CombinationLock, what: &str) -> tenure::Result<()> {
    let guard = lock.acquire().await?; // held already, or not
    println!("{what}, held {} times", guard.hold_count());
    Ok(())
}

pub(crate) async fn run(builder: CombinationBuilder) -> tenure::Result<()> {
    let lock = builder.build("example-stock").await?;
    let work = async {
        // Servers that have just started count after one expiry.
        let Some(guard) = lock.acquire_within(Duration::from_secs(60)).await? else {
            println!("somebody else has it");
            return Ok(());
        };
        println!("ours for {:?} at least", guard.remaining());
        // Ends early if the lock is lost. There is no token to give to the
        // resource: several servers have no common order.
        guard.protect(book(&lock, "count")).await??;
        guard.release().await
    };
    Holder::new("import").scope(work).await?;
    lock.close().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure::Result<()> {
    let nodes: Vec<String> = std::env::args().skip(1).collect();
    if nodes.is_empty() {
        println!("name two Redis servers or more, as in redis://10.0.0.1 redis://10.0.0.2");
        return Ok(());
    }
    let builder = CombinationLock::builder().nodes(nodes);
    run(builder.auto_command_timeout()).await
}
