//! `tenure-bench`: what Tenure costs, measured beside what the stores cost without it.

use std::process::ExitCode;

use tenure_bench::{Result, args, report, rows, worker};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((word, words)) if word == worker::WORD => worker::main(words),
        _ => bench(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(words: &[String]) -> Result<()> {
    let args = args::parse(words)?;
    let report = rows::measure(&args)?;
    println!("\n{}", report::page(&report));
    if let Some(path) = &args.json {
        std::fs::write(path, report::json(&report))?;
    }
    if let Some(path) = &args.chart {
        std::fs::write(path, report::chart(&report))?;
    }
    match &args.docs {
        Some(docs) => report::write_docs(&report, docs),
        None => Ok(()),
    }
}
