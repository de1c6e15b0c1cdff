//! [`Meters`] without the feature `metrics`: nothing is counted, and nothing of
//! it is left in the program.

use std::time::Duration;

use crate::error::{Error, LossCause};
use crate::model::{MutexName, Purpose};

#[derive(Clone, Debug)]
pub(crate) struct Meters;

#[derive(Clone, Debug)]
pub(crate) struct NameMeters;

impl Meters {
    pub(crate) const IS_ON: bool = false;

    pub(crate) fn new(_store: &'static str) -> Self {
        Self
    }

    pub(crate) fn of(&self, _purpose: Purpose, _name: &MutexName) -> NameMeters {
        NameMeters
    }

    pub(crate) fn called(
        &self,
        _operation: &'static str,
        _took: impl FnOnce() -> Duration,
        _error: Option<&Error>,
    ) {
    }

    pub(crate) fn renewed(&self, _is_well: bool) {}

    pub(crate) fn is_in_trouble(&self) {}

    pub(crate) fn is_well(&self) {}
}

impl NameMeters {
    pub(crate) fn waits(&self) {}

    pub(crate) fn waits_no_more(&self) {}

    pub(crate) fn won_after(&self, _waited: impl FnOnce() -> Duration) {}

    pub(crate) fn owns(&self) {}

    pub(crate) fn owned_for(&self, _held: Duration) {}

    pub(crate) fn lost(&self, _cause: LossCause) {}

    pub(crate) fn handed_on(&self) {}

    pub(crate) fn run_begins(&self, _late: Duration) {}

    pub(crate) fn run_ended(&self, _outcome: &'static str, _took: Duration, _at: u64) {}

    pub(crate) fn ended_well(&self, _at: u64) {}

    pub(crate) fn skipped(&self, _ticks: u64) {}
}
