//! A lock for a part of a shell script: `tenure hold` and `tenure release`.
//!
//! `tenure hold` starts the *holder*, a process in the background, which takes
//! the lock and renews it; it prints what the shell is to evaluate, and ends.
//! The holder watches the shell and has two guardians, which end the shell
//! and whatever that has started since when the lock is lost. `tenure release`
//! asks at the holder's *desk*, a socket.
//!
//! | file | what it is |
//! | --- | --- |
//! | `shell` | which shell the lock is for |
//! | `words` | what that shell is told |
//! | `holder` | the process in the background |
//! | `vigil` | what it does while the lock is held |
//! | `desk` | where `tenure release` asks for it |

pub(crate) mod desk;
mod holder;
pub(crate) mod shell;
mod vigil;
pub(crate) mod words;

pub(crate) use holder::{Order, main};

pub(crate) const WORD: &str = "__holder";
