//! A fenced write: an owner sleeps through its lease, wakes up and writes; the
//! resource refuses it. `docs/fencing.md` has the same for databases.
//!
//! ```text
//! cargo run --example fenced_write [URL]  # or TENURE_URL; otherwise memory:demo
//! ```

use std::sync::Mutex;
use std::time::Duration;

use tenure::lock::{Fence, LockOptions, StaleToken};
use tenure::model::FencingToken;
use tenure::{Coordinator, Result};

/// A resource that admits only the newest owner.
#[derive(Default)]
struct Account {
    fence: Fence,
    balance: Mutex<i64>,
}

impl Account {
    fn write(&self, balance: i64, token: FencingToken) -> Result<(), StaleToken> {
        // Check and write are one: both under the resource's own lock.
        let mut present = self.balance.lock().expect("no panic while it is held");
        self.fence.admit(token)?;
        *present = balance;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let account = Account::default();
    let (slow, quick) = (connect().await?, connect().await?);

    // It stands for a process that is paused for longer than its lease.
    let options = LockOptions::default().with_max_hold(Duration::from_millis(200));
    let paused = slow.lock_with("demo-account", options)?.acquire().await?;
    let old = paused.token()?;
    println!("the slow one owns, with {old}, and falls asleep");

    let guard = quick.lock("demo-account")?.acquire().await?;
    account.write(80, guard.token()?)?;
    println!(
        "the quick one owns and has written, with {}",
        guard.token()?
    );

    // Asked again, the guard knows that it is over …
    println!("the slow one wakes up: {}", paused.token().unwrap_err());
    // … but this one did not ask. The resource has the last word.
    let refused = account.write(0, old).unwrap_err();
    println!("the account refuses it: {refused}");
    assert_eq!(*account.balance.lock().expect("no panic"), 80);

    guard.release().await?;
    drop(paused);
    quick.close().await?;
    slow.close().await
}

/// With a short lease, so that the story is short.
async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    let url = url.as_deref().unwrap_or("memory:demo?ttl=1s&transition=1s");
    Coordinator::connect(url).await
}
