//! `tenure release`: let go of what `tenure hold` has taken.

use std::process::ExitCode;

use crate::exit::{self, Failure};
use crate::hold::desk::{self, Visit};
use crate::output::{Voice, plain};

pub(crate) fn release(name: Option<&str>, voice: &Voice) -> Result<ExitCode, Failure> {
    if desk::ids().is_empty() {
        return Err(Failure::usage(
            "this script holds nothing: there is no TENURE_HOLD, as eval \"$(tenure hold NAME)\" \
             would have set",
        ));
    }
    let visit = chosen(Visit::all(), name)?;
    let outcome = visit.release(|| {
        voice.warn(&"waiting for the holder of the lock");
    });
    let outcome = outcome.map_err(|_| {
        Failure::new(
            exit::LOST,
            "the holder of the lock has died: the lock stays held until its lease is over",
        )
    })?;
    if !outcome.working.is_empty() {
        voice.warn(&format_args!(
            "started while the lock was held, and still at work: process {}",
            plain(&outcome.working.join(", "))
        ));
    }
    if let Some(lost) = outcome.lost {
        return Err(Failure::new(exit::LOST, lost));
    }
    if let Some(doubt) = outcome.doubt {
        voice.warn(&format_args!(
            "the lock is let go, but may stay held for a while: {doubt}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The holder of this name, or the only one.
fn chosen(visits: Vec<Visit>, name: Option<&str>) -> Result<Visit, Failure> {
    let over = "it was released before, or its holder has died";
    let Some(name) = name else {
        let names: Vec<String> = visits.iter().filter_map(Visit::name).collect();
        let mut visits = visits.into_iter();
        return match (visits.next(), visits.next()) {
            (None, _) => Err(Failure::new(
                exit::LOST,
                format!("nothing is held any more: {over}"),
            )),
            (Some(visit), None) => Ok(visit),
            _ => Err(Failure::usage(format!(
                "several locks are held ({}): say which",
                plain(&names.join(", "))
            ))),
        };
    };
    let is_it = |visit: &Visit| visit.name().as_deref() == Some(name);
    // Of two stores, the one that was taken last.
    visits.into_iter().rfind(is_it).ok_or_else(|| {
        Failure::new(
            exit::LOST,
            format!("{} is not held by this script: {over}", plain(name)),
        )
    })
}
