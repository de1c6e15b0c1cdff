//! Leader election: stand for office, lead while elected, know who leads.
//!
//! | to | use |
//! | --- | --- |
//! | run something for as long as this process leads | [`Elector::lead`] |
//! | hear of everything, in a loop of your own | [`Elector::campaign`] |
//! | know the leader without standing | [`Elector::leader`], [`Elector::observe`] |
//! | know whether it is this process, and with which token | [`Elector::is_leading`], [`Elector::tenure`] |
//! | know whether it leads or waits to | [`Elector::is_standing`] |
//! | give the office back, and be sure of it | [`Leadership::resign`] |
//!
//! Being elected begins a [`Tenure`](crate::Tenure). A leader that loses the
//! office and wins it again has a new one, with a larger token; work that
//! belongs to the old one must end with it.
//!
//! When the coordinator is closed, an office that is held is asked to end. The
//! work of [`lead`](Elector::lead) is dropped and the office resigned. The
//! holder of the [`Leadership`] of a campaign is told by its tenure
//! ([`ending`](crate::Tenure::ending), and [`protect`](crate::Tenure::protect)
//! returns) and by [`Deposed`](CampaignEvent::Deposed); `close` waits, for the
//! coordinator's `quiesce` time, until it has been dropped, and says so when it
//! was not. `examples/graceful.rs` shows it.
//!
//! An election that is not read is given back after its first ttl, and the
//! campaign stands again when it is read.

mod campaign;
mod elector;
mod observer;
mod offices;

pub use campaign::{Campaign, CampaignEvent, Leadership};
pub use elector::Elector;
pub use observer::Observer;
