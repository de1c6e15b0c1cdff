//! A lock from plain threads: no runtime, no `async`.
//!
//! `cargo run --example blocking_lock [-- redis://localhost]`

use std::time::Duration;

use tenure::blocking::Coordinator;

fn main() -> tenure::Result<()> {
    let url = std::env::args().nth(1);
    let coordinator = Coordinator::connect(url.as_deref().unwrap_or("memory:"))?;
    let lock = coordinator.lock("nightly-report")?;

    std::thread::scope(|scope| {
        for number in 0..3 {
            let lock = lock.clone();
            scope.spawn(move || -> tenure::Result<()> {
                let guard = lock.acquire()?;
                println!("thread {number} owns it, with token {}", guard.token()?);
                guard.release()
            });
        }
    });

    let Some(guard) = lock.acquire_within(Duration::from_secs(5))? else {
        println!("somebody else has it");
        return Ok(());
    };
    // A thread that must know gets the tenure.
    let tenure = guard.tenure().clone();
    let watcher = std::thread::spawn(move || tenure.wait_lost(Duration::from_secs(60)));
    guard.release()?;
    println!(
        "the watcher heard: {:?}",
        watcher.join().unwrap().map(|lost| lost.cause)
    );
    coordinator.close()
}
