//! The guardian: a process of its own that ends the command's group in time.
//!
//! A lease is lost by the clock, whatever happens to this program: it may be
//! killed, stopped, or starved. So a second process, in a session of its own,
//! is told the group and every new deadline as an absolute time; it sends
//! SIGTERM to the group at the deadline less the grace, SIGKILL at the
//! deadline, and SIGKILL at once when the line to this program closes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `post` | this program's end of the line |
//! | `watch` | when to do what, a pure function of time |
//! | `process` | the guardian's own end: poll, timer, kill |

mod post;
mod process;
mod watch;

pub(crate) use post::{Post, Report};
pub(crate) use process::main;

pub(crate) const WORD: &str = "__guardian";
