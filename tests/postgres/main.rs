//! PostgreSQL: the contract, and what only this store has.

mod contract;
mod counts;
mod dialect;
mod listing;
mod odd_tables;
mod pooler;
mod push;
mod races;

// What both SQL stores must stand.
#[path = "../sql/faults.rs"]
mod faults;
#[path = "../sql/ground.rs"]
mod ground;
#[path = "../sql/identity.rs"]
mod identity;
#[path = "../sql/locked.rs"]
mod locked;
#[path = "../sql/odd.rs"]
mod odd;
#[path = "../sql/outage.rs"]
mod outage;
#[path = "../sql/process.rs"]
mod process;
#[path = "../sql/settings.rs"]
mod settings;
#[path = "../sql/silence.rs"]
mod silence;
#[path = "../sql/tls.rs"]
mod tls;

// What every store must stand.
#[path = "../listing/damage.rs"]
mod listing_damage;
#[path = "../listing/ledgers.rs"]
mod listing_ledgers;
#[path = "../listing/prune.rs"]
mod listing_prune;

pub(crate) use ground::SERVER;
pub(crate) use tenure_testkit::servers::Postgres as Server;

tenure_testkit::peer_process!();
