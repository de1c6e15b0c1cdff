//! What is measured, one file each.

mod allocations;
mod hand_over;
mod holding;
mod killed;
mod measurement;
mod on_disk;
mod one_name;
mod processes;
mod sides;
mod take_free;
mod throughput;
mod waiters;
mod waiting;

pub use measurement::Measurement;

use std::cell::Cell;
use std::io::Write;

use crate::Result;
use crate::args::{Args, Effort};
use crate::environment::{Machine, RunningStore, processors};
use crate::report::{Growth, Report, Row};

/// What all measurements share.
#[derive(Debug)]
struct Bench<'a> {
    effort: &'a Effort,
    /// The processor that latencies are compared on.
    cpu: usize,
    all: Vec<usize>,
    names: Cell<usize>,
    rows: Vec<Row>,
    growths: Vec<Growth>,
}

impl Bench<'_> {
    /// A name that nothing else uses.
    fn fresh(&self, word: &str) -> String {
        self.names.set(self.names.get() + 1);
        format!("{word}{}", self.names.get())
    }

    /// Says what is being done, since it takes long.
    fn say(&self, stage: &RunningStore, what: &str) {
        eprintln!("tenure-bench: {}: {what}", stage.store().name());
    }
}

/// Measures everything that was asked for.
pub fn measure(args: &Args) -> Result<Report> {
    let machine = Machine::look(&args.stores);
    let all = processors()?;
    let mut bench = Bench {
        effort: &args.effort,
        // The first processor often has the interrupts.
        cpu: *all.last().ok_or("no processor")?,
        all,
        names: Cell::new(0),
        rows: Vec::new(),
        growths: Vec::new(),
    };
    for store in &args.stores {
        let stage = RunningStore::start(*store)?;
        on_one_store(&mut bench, &stage, args)?;
        let _ = std::io::stderr().flush();
    }
    let Bench { rows, growths, .. } = bench;
    Ok(Report {
        machine,
        rounds: args.effort.rounds,
        rows,
        growths,
    })
}

fn on_one_store(bench: &mut Bench<'_>, stage: &RunningStore, args: &Args) -> Result<()> {
    let on_it = args.measurements.iter();
    for measurement in on_it.filter(|one| one.is_of(stage.store())) {
        match measurement {
            Measurement::TakeFree => take_free::measure(bench, stage),
            Measurement::OnDisk => on_disk::measure(bench, stage.store()),
            Measurement::Allocations => allocations::measure(bench),
            Measurement::ManyNames => throughput::measure(bench, stage),
            Measurement::OneName => one_name::measure(bench, stage),
            Measurement::HandOver => hand_over::measure(bench, stage),
            Measurement::Killed => killed::measure(bench, stage),
            Measurement::Holding => holding::measure(bench, stage),
            Measurement::Waiting => waiting::measure(bench, stage),
            Measurement::Waiters => waiters::measure(bench, stage),
            Measurement::Processes => processes::measure(bench, stage),
        }?;
    }
    Ok(())
}
