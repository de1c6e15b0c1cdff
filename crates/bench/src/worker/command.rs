//! What a worker is told, as a line of text.

use std::fmt;

use crate::Result;

/// What a worker is told. Each is answered by numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Takes the lock of this name. Answer: when it asked, and when it had it.
    Take(String),
    /// Frees it. Answer: when it began, and when the store had answered.
    Free(String),
    /// So many tasks take and free so many names in turns. Answer: how often in all, how often
    /// the task that did it least, and the one that did it most.
    Cycle {
        /// How many tasks.
        tasks: usize,
        /// How many names they share.
        names: usize,
        /// For how long.
        millis: u64,
        /// How the names begin.
        prefix: String,
    },
    /// Takes so many names and keeps them. Answer: its memory before and after, in bytes.
    Hold {
        /// How many names.
        count: usize,
        /// How they begin.
        prefix: String,
    },
    /// Waits for so many names that another holds. Answer: nothing, once all of them wait.
    Wait {
        /// How many names.
        count: usize,
        /// How they begin.
        prefix: String,
    },
    /// So many clients of their own wait for one name, then each takes it and frees it in its
    /// turn. Answer: how long all of them took, in nanoseconds.
    Line {
        /// How many clients.
        waiters: usize,
        /// The name.
        name: String,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Take(name) => write!(f, "take {name}"),
            Self::Free(name) => write!(f, "free {name}"),
            Self::Cycle {
                tasks,
                names,
                millis,
                prefix,
            } => write!(f, "cycle {prefix} {tasks} {names} {millis}"),
            Self::Hold { count, prefix } => write!(f, "hold {prefix} {count}"),
            Self::Wait { count, prefix } => write!(f, "wait {prefix} {count}"),
            Self::Line { waiters, name } => write!(f, "line {name} {waiters}"),
        }
    }
}

impl std::str::FromStr for Command {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let what = words.next().ok_or("an empty line")?;
        let prefix = words.next().ok_or("no name")?.to_owned();
        let numbers: Vec<u64> = words
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        Ok(match (what, numbers.as_slice()) {
            ("take", []) => Self::Take(prefix),
            ("free", []) => Self::Free(prefix),
            ("cycle", &[tasks, names, millis]) => Self::Cycle {
                tasks: tasks as usize,
                names: names as usize,
                millis,
                prefix,
            },
            ("hold", &[count]) => Self::Hold {
                count: count as usize,
                prefix,
            },
            ("wait", &[count]) => Self::Wait {
                count: count as usize,
                prefix,
            },
            ("line", &[waiters]) => Self::Line {
                waiters: waiters as usize,
                name: prefix,
            },
            _ => return Err(format!("no command: {line:?}").into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let prefix = || "p-1".to_owned();
        for command in [
            Command::Take(prefix()),
            Command::Free(prefix()),
            Command::Cycle {
                tasks: 64,
                names: 3,
                millis: 1_000,
                prefix: prefix(),
            },
            Command::Hold {
                count: 10_000,
                prefix: prefix(),
            },
            Command::Wait {
                count: 7,
                prefix: prefix(),
            },
            Command::Line {
                waiters: 9,
                name: prefix(),
            },
        ] {
            let read: Command = command.to_string().parse().expect("a command");
            assert_eq!(read, command);
        }
        assert!("cycle p 1".parse::<Command>().is_err());
        assert!("".parse::<Command>().is_err());
    }
}
