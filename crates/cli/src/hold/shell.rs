//! Which shell a lock is for.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, getpid};

use crate::exit::Failure;
use crate::tree::{Stranger, ancestors, start_of};

/// The shell of this number, or the one that reads what this program prints,
/// with its start.
pub(crate) fn find(asked: Option<i32>) -> Result<Stranger, Failure> {
    let pid = match asked {
        None => reader().ok_or_else(|| {
            Failure::usage(
                "cannot tell which shell the lock is for: write eval \"$(tenure hold NAME)\", \
                 or say which with --pid $$",
            )
        })?,
        // At a loss it is ended: it must be one that asks for it itself.
        Some(asked) => Pid::from_raw(asked.max(0))
            .filter(|pid| ancestors(getpid()).contains(pid))
            .ok_or_else(|| {
                Failure::usage(format!(
                    "--pid {asked} is not a process that this one descends from: give the \
                     shell's own, as in --pid $$"
                ))
            })?,
    };
    let start = start_of(pid).ok_or_else(|| Failure::usage("the shell has ended"))?;
    Ok((pid, start))
}

/// The nearest ancestor that has the other end of our stdout. In `$(…)` there
/// may be a subshell in between, which has the same end as this program.
fn reader() -> Option<Pid> {
    let ours = fs::read_link("/proc/self/fd/1").ok()?;
    if !ours.to_string_lossy().starts_with("pipe:") {
        return None;
    }
    ancestors(getpid())
        .into_iter()
        .find(|pid| reads(*pid, &ours))
}

fn reads(pid: Pid, pipe: &Path) -> bool {
    let folder = format!("/proc/{}", pid.as_raw_pid());
    let files = fs::read_dir(format!("{folder}/fd")).into_iter().flatten();
    files.flatten().any(|file| {
        let is_it = fs::read_link(file.path()).is_ok_and(|link| link == pipe);
        let name = file.file_name();
        is_it && is_for_reading(&format!("{folder}/fdinfo/{}", name.to_string_lossy()))
    })
}

fn is_for_reading(info: &str) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 == 0)
}

/// Whether a person types into the shell `pid`: it reads from a terminal, and
/// was given no script, or ignores SIGTERM, as interactive shells do.
pub(crate) fn is_interactive(pid: Pid) -> bool {
    let folder = format!("/proc/{}", pid.as_raw_pid());
    let input = fs::read_link(format!("{folder}/fd/0")).unwrap_or_default();
    let input = input.to_string_lossy();
    if !input.starts_with("/dev/pts/") && !input.starts_with("/dev/tty") {
        return false;
    }
    let line = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
    let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    !has_script(&String::from_utf8_lossy(&line)) || ignores_term(&status)
}

/// Whether a shell with these arguments reads its commands from elsewhere.
fn has_script(line: &str) -> bool {
    let mut words = line.split('\0').filter(|word| !word.is_empty()).skip(1);
    words.any(|word| match word.strip_prefix('-') {
        None => true,
        Some(letters) => !letters.starts_with('-') && letters.contains('c'),
    })
}

fn ignores_term(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (Signal::TERM.as_raw() - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_with_a_script_is_known_by_its_arguments() {
        for line in [
            "sh\0x.sh\0",
            "bash\0-e\0x.sh\0",
            "sh\0-c\0true\0",
            "sh\0-ec\0x\0",
        ] {
            assert!(has_script(line), "{line:?}");
        }
        for line in [
            "-bash\0",
            "bash\0-i\0",
            "bash\0--norc\0--noprofile\0-i\0",
            "sh\0",
        ] {
            assert!(!has_script(line), "{line:?}");
        }
    }

    #[test]
    fn an_ignored_signal_is_found_in_the_status() {
        assert!(ignores_term("Name:\tbash\nSigIgn:\t0000000000384004\n"));
        assert!(!ignores_term("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_term(""));
    }
}
