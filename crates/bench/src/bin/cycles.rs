//! Takes and frees one lock so many times and ends: something to count instructions in.
//!
//! `tenure-bench-cycles URL COUNT`

use tenure::Coordinator;
use tenure::clock::Clock;
use tenure_bench::Result;

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
        // Valgrind hides the kernel's page from which rustix reads the boot clock, and rustix does
        // not notice: it reads where nothing is. Everything else is as in any program.
        let builder = Coordinator::builder().clock(Clock::tokio());
        let lock = builder.connect(url).await?.lock("counted")?;
        for _ in 0..count {
            lock.acquire().await?.release().await?;
        }
        Ok(())
    })
}
