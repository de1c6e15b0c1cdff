//! A lock that its holder may take again: functions that need it take it, and
//! need not know whether their caller has it already.
//!
//! `cargo run --example reentrant_lock [-- redis://localhost]`

use tenure::{Coordinator, Holder, ReentrantLock};

async fn book(lock: &ReentrantLock, what: &str) -> tenure::Result<()> {
    let guard = lock.acquire().await?;
    println!("{what}, held {} times", guard.hold_count());
    Ok(())
}

async fn book_both(lock: &ReentrantLock) -> tenure::Result<()> {
    let guard = lock.acquire().await?;
    book(lock, "debit").await?;
    book(lock, "credit").await?;
    println!("both under token {}", guard.token()?);
    guard.release().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:")).await?;
    let lock = coordinator.reentrant_lock("ledger")?;

    // Everything that the future calls is one holder …
    Holder::new("import").scope(book_both(&lock)).await?;
    // … or the lock is bound to one.
    let mine = lock.held_by(&Holder::new("correction"));
    book_both(&mine).await?;
    coordinator.close().await
}
