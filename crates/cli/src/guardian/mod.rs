//! The guardians: processes of their own that end the command's tree in time.
//!
//! A lease is lost by the clock, whatever happens to this program: it may be
//! killed, stopped, or starved. So the command is the child of another
//! process, the *guardian*, which is told every new deadline as an absolute
//! time; it sends SIGTERM to the tree at the deadline less the grace, SIGKILL
//! at the deadline, and SIGKILL at once when the line to this program closes.
//! This program, the guardian's parent, is what is left when the guardian dies:
//! both are sub-reapers, so the command's tree is always below one of them.
//! Where a cgroup may be made, the command is also put into one of its own.
//!
//! A second one, the *witness*, has no children. It does the same, for the
//! case that this program and the guardian are killed at once, and takes the
//! guardian's place when that one dies.
//!
//! A script that holds a lock by `tenure hold` has two guardians without
//! children: its shell was there before them.
//!
//! | file | what it is |
//! | --- | --- |
//! | `post` | this program's side: both guardians, and the command's fate |
//! | `pair` | the holder's side: both guardians of a script |
//! | `enclosure` | the command's cgroup in the making |
//! | `handle` | one of them, and the line to it |
//! | `orders` | what is said on that line, both ways |
//! | `deadline` | when to do what, a pure function of time |
//! | `speech` | what they say, without waiting for who does not listen |
//! | `process` | the guardians' own side: poll, timer, kill |

mod deadline;
mod enclosure;
mod handle;
mod orders;
mod pair;
mod post;
mod process;
mod speech;

pub(crate) use pair::Pair;
pub(crate) use post::{Post, Report};
pub(crate) use process::main;
pub(crate) use speech::is_heard;

pub(crate) const WORD: &str = "__guardian";

/// Which of the guardians one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The command's parent.
    Parent,
    Witness,
    /// Guards a script that holds a lock.
    Script,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::Witness => "witness",
            Self::Script => "script",
        }
    }
}
