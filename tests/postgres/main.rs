//! PostgreSQL: the contract, and what only this store has.

mod contract;
mod ground;
