//! Leader election: stand for office, lead while elected, know who leads.

mod campaign;
mod elector;
mod observer;

pub use campaign::{Campaign, CampaignEvent, Leadership};
pub use elector::Elector;
pub use observer::Observer;
