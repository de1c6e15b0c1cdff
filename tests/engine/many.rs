//! Thousands of contentions share one process.

use tenure_testkit::fault::Call;

use crate::support::{World, secs};

#[tokio::test(start_paused = true)]
async fn a_thousand_held_locks_are_renewed_in_two_batches_each_period() {
    let world = World::new();
    let (process, faults) = world.process();
    let mut guards = Vec::new();
    for number in 0..1000 {
        let lock = process.lock(format!("m{number}")).unwrap();
        guards.push(lock.acquire().await.unwrap());
        if number % 100 == 0 {
            world.pass(secs(1)).await; // taken at different times
        }
    }
    world.pass(secs(30)).await;
    let before = faults.calls(Call::Renew);
    world.pass(secs(100)).await; // ten periods
    let batches = faults.calls(Call::Renew) - before;
    // Two in a period, and one for where it is cut.
    assert!(batches <= 21, "{batches} batches in ten periods");
    assert!(batches >= 15, "all in one burst: {batches} in ten periods");
    assert!(guards.iter().all(|guard| !guard.is_lost()));
}

/// Two services, ten thousand waiters and owners: as many threads as before.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn ten_thousand_contentions_take_no_thread_and_little_memory() {
    let world = World::new();
    let (owner, waiter) = (world.process().0, world.process().0);
    let status = |key: &str| -> u64 {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let mut guards = Vec::new();
    let mut waiting = Vec::new();
    let (threads, memory) = (status("Threads:"), status("VmRSS:"));
    for number in 0..5000 {
        let name = format!("m{number}");
        guards.push(owner.lock(&name).unwrap().acquire().await.unwrap());
        let lock = waiter.lock(&name).unwrap();
        waiting.push(tokio::spawn(async move { lock.acquire().await.unwrap() }));
    }
    world.pass(secs(3)).await;
    // Other tests of this binary run beside this one, each with a thread.
    assert!(
        status("Threads:") <= threads + 40,
        "{} threads",
        status("Threads:")
    );
    let kilobytes = status("VmRSS:").saturating_sub(memory);
    assert!(
        kilobytes / 10_000 < 16,
        "{kilobytes} kB for 10,000 contentions"
    );
    drop(guards);
    for task in waiting {
        drop(task.await.unwrap());
    }
}
