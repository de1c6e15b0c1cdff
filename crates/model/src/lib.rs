//! The protocols of the stores as models, every state of which is looked at.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`world`], [`action`] | three contenders on a store, and all that can befall what they say to each other |
//! | [`setting`] | what such a world is made of |
//! | [`property`] | what must never happen there, and what must be possible |
//! | [`client`] | a contender, as the engine has it |
//! | [`redis`] | the scripts of Redis, key by key; with a replica, which may become the master, and beside a JVM peer |
//! | [`table`] | a row as MySQL's, which knows an id and a version and nothing more |
//! | [`waiting`] | the queue of Redis, and that everybody in it comes to own |
//! | [`session`] | a session with ZooKeeper, and until when its owner may believe |
//! | [`rule`] | the rules, and those that were wrong |
//! | [`words`], [`store`] | what is said, and what a store is to a world |
//! | [`mod@explore`], [`told`] | looking at all of it, and telling a person what was found |
//!
//! The properties have the names that docs/guarantees.md has for them. docs/decisions
//! says what is left out, and why (87).

pub mod action;
pub mod client;
pub mod explore;
mod naming;
pub mod property;
pub mod redis;
pub mod rule;
pub mod session;
pub mod setting;
pub mod store;
pub mod table;
pub mod told;
pub mod waiting;
pub mod words;
pub mod world;
