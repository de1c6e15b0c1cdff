//! What every store must stand beyond the contract: with several processes, over
//! time, and with damage that other programs did.
//!
//! | module | the store must stand |
//! | --- | --- |
//! | [`same_chance`] | processes whose operating system repeats itself |
//! | [`linger`] | locks that linger, and processes that end meanwhile |
//! | [`damage`] | damaged mutexes beside healthy ones |
//! | [`ledgers`] | ledgers of earlier versions, and damaged ones |
//! | [`prune`] | the removal of what is not used |

pub mod damage;
pub mod ledgers;
pub mod linger;
pub mod prune;
pub mod same_chance;
