//! Counts what one take and free of the engine asks the allocator for.

use allocation_counter::measure;
use tenure_bench::Result;
use tenure_bench::locks::{Lock, Locks, Tenure};

const CYCLES: u64 = 1_000;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut lock = runtime.block_on(async { Tenure::open("memory:").await?.lock("m") })?;
    let mut cycles = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                lock.take().await?;
                lock.free().await?;
            }
            Result::Ok(())
        })
    };
    // The first ones fill what is kept.
    cycles(CYCLES)?;
    let counted = measure(|| cycles(CYCLES).expect("the memory store does not fail"));
    println!("{}", counted.count_total as f64 / CYCLES as f64);
    Ok(())
}
