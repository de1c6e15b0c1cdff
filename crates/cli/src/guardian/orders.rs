//! What is said on the line between this program and a guardian, both ways.
//!
//! It stands on nothing else of the program: crates/fuzz reads the same file.

use rustix::process::Pid;

/// What a guardian is told. Who says anything else is not to be trusted to renew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The command's tree is what lies below the ancestor, without the strangers.
    Among {
        ancestor: Pid,
        command: Pid,
        strangers: Vec<Pid>,
    },
    /// These are never ended.
    Apart(Vec<Pid>),
    /// The command's cgroup, in its own words.
    Cgroup(String),
    /// The script that is guarded, in its own words.
    Script(String),
    /// The deadline, in nanoseconds of the clock.
    Until(u64),
    /// So long before the deadline the command is asked to end.
    Grace(u64),
    /// What came with it has opened the gate.
    Go,
}

impl Order {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end_matches('\n');
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.split_whitespace().next()?.parse().ok();
        let pids = || rest.split_whitespace().map(pid).collect::<Option<Vec<_>>>();
        Some(match word {
            "among" => {
                let mut pids = pids()?.into_iter();
                Self::Among {
                    ancestor: pids.next()?,
                    command: pids.next()?,
                    strangers: pids.collect(),
                }
            }
            "apart" => Self::Apart(pids()?),
            "cgroup" => Self::Cgroup(rest.to_owned()),
            "script" => Self::Script(rest.to_owned()),
            "until" => Self::Until(number()?),
            "grace" => Self::Grace(number()?),
            "go" => Self::Go,
            _ => return None,
        })
    }
}

/// What a guardian says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It guards the command, which has this number.
    Ready(Option<Pid>),
    /// It has heard the last line.
    Heard,
    /// The deadline is near: it has sent SIGTERM.
    Stopping,
    /// The deadline has come: it has sent SIGKILL.
    Killed,
    /// A signal has stopped the command.
    Stopped(i32),
    /// This one of the tree may not be told to end.
    Refused(Pid),
    /// The command has ended, and keeps its number until it is reaped.
    Ended,
    /// It is no more, or says nothing any more.
    Gone,
}

impl Word {
    /// Whether the command was told to end.
    pub(super) fn is_act(&self) -> bool {
        matches!(self, Self::Stopping | Self::Killed)
    }

    pub(super) fn parse(line: &[u8]) -> Self {
        let line = str::from_utf8(line).unwrap_or_default();
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("ready"), number) => Self::Ready(number.and_then(pid)),
            (Some("heard"), _) => Self::Heard,
            (Some("stopping"), _) => Self::Stopping,
            (Some("killed"), _) => Self::Killed,
            (Some("stopped"), Some(signal)) => signal.parse().map_or(Self::Gone, Self::Stopped),
            (Some("refused"), number) => number.and_then(pid).map_or(Self::Gone, Self::Refused),
            (Some("ended"), _) => Self::Ended,
            _ => Self::Gone,
        }
    }
}

/// The number of a process. One below zero would be a whole group, or all there are.
fn pid(word: &str) -> Option<Pid> {
    let number: u32 = word.parse().ok()?;
    Pid::from_raw(number.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_below_zero_is_no_process() {
        for line in [
            "among -1 2",
            "among 1 -2",
            "among 1 2 -3",
            "apart -1",
            "apart 0",
        ] {
            assert_eq!(Order::parse(line), None, "{line}");
        }
        assert_eq!(Word::parse(b"refused -1"), Word::Gone);
        assert_eq!(Word::parse(b"ready -1"), Word::Ready(None));
        assert_eq!(Word::parse(b"ready 0"), Word::Ready(None));
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let among = Order::Among {
            ancestor: pid(1),
            command: pid(2),
            strangers: vec![pid(3), pid(4)],
        };
        assert_eq!(Order::parse("among 1 2 3 4\n"), Some(among));
        assert_eq!(Order::parse("apart \n"), Some(Order::Apart(Vec::new())));
        let cgroup = Order::Cgroup("7 /sys/a b".to_owned());
        assert_eq!(Order::parse("cgroup 7 /sys/a b\n"), Some(cgroup));
        assert_eq!(Order::parse("until 5\n"), Some(Order::Until(5)));
        assert_eq!(Order::parse("go\n"), Some(Order::Go));
        for line in [
            "", "\n", "until", "until -1", "until x", "grace ", "among 1", "Go",
        ] {
            assert_eq!(Order::parse(line), None, "{line:?}");
        }
    }
}
