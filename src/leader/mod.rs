//! Leader election: stand for office, lead while elected, know who leads.
//!
//! | to | use |
//! | --- | --- |
//! | run something for as long as this process leads | [`Elector::lead`] |
//! | hear of everything, in a loop of your own | [`Elector::campaign`] |
//! | know the leader without standing | [`Elector::observe`] |
//!
//! Being elected begins a [`Tenure`](crate::Tenure). A leader that loses the
//! office and wins it again has a new one, with a larger token; work that
//! belongs to the old one must end with it. When the coordinator is closed,
//! the work of [`lead`](Elector::lead) is dropped and the office resigned; a
//! campaign is told by [`Deposed`](CampaignEvent::Deposed), and `close` waits
//! (for the coordinator's `quiesce` time) until its [`Leadership`] has been
//! dropped: read the events, and drop it there.

mod campaign;
mod elector;
mod observer;

pub use campaign::{Campaign, CampaignEvent, Leadership};
pub use elector::Elector;
pub use observer::Observer;
