//! A reentrant lock from plain threads: the thread is the holder.
//!
//! `cargo run --example blocking_reentrant [-- redis://localhost]`

use tenure::blocking::{Coordinator, ReentrantLock};

fn book(lock: &ReentrantLock) -> tenure::Result<()> {
    let guard = lock.acquire()?; // held already, or not
    println!(
        "{:?} books, held {} times, token {}",
        std::thread::current().name().unwrap_or("a thread"),
        guard.hold_count(),
        guard.token()?
    );
    Ok(())
}

fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:"))?;
    let lock = coordinator.reentrant_lock("ledger")?;
    std::thread::scope(|scope| {
        for number in 0..3 {
            let lock = lock.clone();
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            let work = move || -> tenure::Result<()> {
                let guard = lock.acquire()?;
                book(&lock)?;
                guard.release()
            };
            thread.spawn_scoped(scope, work).expect("a thread");
        }
    });
    coordinator.close()
}
