//! Takes and frees one lock so many times and ends: something to count instructions in.
//!
//! `tenure-bench-cycles URL COUNT`

use tenure_bench::Result;
use tenure_bench::locks::{Lock, Locks, Tenure};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, count] = words.as_slice() else {
        return Err("tenure-bench-cycles URL COUNT".into());
    };
    let count: u64 = count.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut lock = Tenure::open(url).await?.lock("counted")?;
        for _ in 0..count {
            lock.take().await?;
            lock.free().await?;
        }
        Ok(())
    })
}
