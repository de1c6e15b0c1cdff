//! PostgreSQL: the contract, and what only this store has.

mod contract;
mod counts;
mod dialect;
mod listing;
mod odd_tables;
mod pooler;
mod push;
mod races;
mod standby;

// What both SQL stores must stand.
#[path = "../shared/sql/faults.rs"]
mod faults;
#[path = "../shared/sql/ground.rs"]
mod ground;
#[path = "../shared/sql/identity.rs"]
mod identity;
#[path = "../shared/sql/locked.rs"]
mod locked;
#[path = "../shared/sql/odd.rs"]
mod odd;
#[path = "../shared/sql/outage.rs"]
mod outage;
#[path = "../shared/sql/process.rs"]
mod process;
#[path = "../shared/sql/settings.rs"]
mod settings;
#[path = "../shared/sql/silence.rs"]
mod silence;
#[path = "../shared/sql/tls.rs"]
mod tls;

// What every store must stand.
#[path = "../shared/listing/damage.rs"]
mod listing_damage;
#[path = "../shared/listing/ledgers.rs"]
mod listing_ledgers;
#[path = "../shared/listing/prune.rs"]
mod listing_prune;

pub(crate) use ground::SERVER;
pub(crate) use tenure_testkit::servers::Postgres as Server;

tenure_testkit::peer_process!();
