//! What the engine asks the allocator for, counted by a program of its own.

use std::process::Command;

use super::Bench;
use crate::Result;
use crate::report::{Goal, Row, Side, Unit};

/// Beside this program, so that only it has an allocator that counts.
const PROGRAM: &str = "tenure-bench-allocations";

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    let program = std::env::current_exe()?.with_file_name(PROGRAM);
    let mut side = Side::new("Tenure");
    for _ in 0..bench.effort.rounds {
        let output = Command::new(&program).output()?;
        let text = String::from_utf8(output.stdout)?;
        side.rounds.push(text.trim().parse()?);
    }
    bench.rows.push(Row {
        sides: vec![side],
        goal: Some(Goal::Most(8.0)),
        ..Row::new(
            "allocations/memory".to_owned(),
            "allocations for a take + free, engine alone".to_owned(),
            Unit::Count,
        )
    });
    Ok(())
}
