//! What was measured, judged and shown.

mod capacity;
mod chart;
mod docs;
mod growth;
mod json;
mod number;
mod page;
mod row;

pub use capacity::{Fleet, plan};
pub use chart::chart;
pub use docs::write_docs;
pub use growth::{Growth, Point};
pub use json::json;
pub use number::{Unit, median};
pub use page::page;
pub use row::{Goal, Row, Side};

use crate::environment::Machine;

/// All of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Where it ran.
    pub machine: Machine,
    /// How often everything was measured.
    pub rounds: usize,
    /// Tenure beside others.
    pub rows: Vec<Row>,
    /// How costs grow.
    pub growths: Vec<Growth>,
}

impl Report {
    /// The row of this id.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The growth of this id.
    pub fn growth(&self, id: &str) -> Option<&Growth> {
        self.growths.iter().find(|growth| growth.id == id)
    }
}
