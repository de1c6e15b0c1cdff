//! PostgreSQL: the contract, and what only this store has.

mod contract;

// What both SQL stores must stand.
#[path = "../sql/faults.rs"]
mod faults;
#[path = "../sql/ground.rs"]
mod ground;
#[path = "../sql/outage.rs"]
mod outage;

pub(crate) use ground::SERVER;
pub(crate) use tenure_testkit::servers::Postgres as Server;
