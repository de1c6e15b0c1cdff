//! One lock over several independent Redis servers, from plain threads.
//!
//! `cargo run --example blocking_combination --features redis -- redis://10.0.0.1 redis://10.0.0.2`

use tenure::CombinationBuilder;
use tenure::blocking::CombinationLock;

pub(crate) fn run(builder: CombinationBuilder) -> tenure::Result<()> {
    let lock = CombinationLock::build(builder, "example-threads")?;
    std::thread::scope(|scope| {
        for number in 0..3 {
            let lock = lock.clone();
            scope.spawn(move || -> tenure::Result<()> {
                let guard = lock.acquire()?;
                let _again = lock.acquire()?; // the same thread: at once
                println!("thread {number} holds it {} times", guard.hold_count());
                Ok(())
            });
        }
    });
    lock.close()
}

fn main() -> tenure::Result<()> {
    let nodes: Vec<String> = std::env::args().skip(1).collect();
    if nodes.is_empty() {
        println!("name two Redis servers or more, as in redis://10.0.0.1 redis://10.0.0.2");
        return Ok(());
    }
    let builder = CombinationLock::builder().nodes(nodes);
    run(builder.auto_command_timeout())
}
