//! What a fleet of peers saw, and whether it was allowed to.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tenure::Tenure;
use tenure::clock::Clock;
use tenure::model::FencingToken;

/// At this moment the owner's own tenure was valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observation {
    /// When, in nanoseconds of the machine's boot clock.
    pub at: u64,
    /// With which token.
    pub token: FencingToken,
    /// The owner.
    pub id: String,
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.at, self.token, self.id)
    }
}

/// Appends observations to a file that a whole fleet may share.
#[derive(Debug)]
pub(super) struct Journal(File);

impl Journal {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self(file))
    }

    /// Notes that `tenure` is valid, if it is; false when it is over.
    pub(super) fn observe(&mut self, tenure: &Tenure) -> io::Result<bool> {
        // Read before the tenure is asked: it was valid then if it is now.
        let at = nanos();
        let Ok(token) = tenure.token() else {
            return Ok(false);
        };
        let id = tenure.contender().as_str().to_owned();
        let line = format!("{}\n", Observation { at, token, id });
        // One write: lines of several processes do not mix.
        self.0.write_all(line.as_bytes())?;
        Ok(true)
    }
}

/// The boot clock, the same for every process of the machine.
fn nanos() -> u64 {
    let now = Clock::boot().now();
    // A moment before all others is the clock's zero.
    let since_boot = now.since(now - Duration::MAX);
    u64::try_from(since_boot.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a journal.
///
/// # Panics
/// When a line is not an observation.
#[must_use]
pub fn read_journal(path: &Path) -> Vec<Observation> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let read = |line: &str| {
        let (at, rest) = line.split_once(' ')?;
        let (token, id) = rest.split_once(' ')?;
        Some(Observation {
            at: at.parse().ok()?,
            token: token.parse().ok()?,
            id: id.to_owned(),
        })
    };
    let lines = text.lines();
    lines
        .map(|line| read(line).unwrap_or_else(|| panic!("no observation: {line:?}")))
        .collect()
}

/// What a good journal shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// How many grants were seen.
    pub grants: usize,
    /// How many different owners there were.
    pub owners: usize,
}

/// Whether there was one owner at a time, with tokens that only rose.
///
/// # Errors
/// The two observations that contradict each other: a tenure that was valid
/// after a later grant, or one token with two owners.
pub fn judge(
    mut observations: Vec<Observation>,
) -> Result<Verdict, Box<(Observation, Observation)>> {
    observations.sort();
    for pair in observations.windows(2) {
        let fell = pair[1].token < pair[0].token;
        let shared = pair[1].token == pair[0].token && pair[1].id != pair[0].id;
        if fell || shared {
            return Err(Box::new((pair[0].clone(), pair[1].clone())));
        }
    }
    let tokens: BTreeSet<_> = observations.iter().map(|seen| seen.token).collect();
    let owners: BTreeSet<_> = observations.iter().map(|seen| &seen.id).collect();
    Ok(Verdict {
        grants: tokens.len(),
        owners: owners.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at: u64, token: u64, id: &str) -> Observation {
        Observation {
            at,
            token: FencingToken::from_value(token).unwrap(),
            id: id.to_owned(),
        }
    }

    #[test]
    fn one_owner_after_the_other_is_fine_in_any_order_of_lines() {
        let verdict = judge(vec![
            seen(5, 20, "b"),
            seen(1, 10, "a"),
            seen(3, 10, "a"),
            seen(9, 30, "a"),
        ]);
        assert_eq!(
            verdict.unwrap(),
            Verdict {
                grants: 3,
                owners: 2
            }
        );
    }

    #[test]
    fn an_old_tenure_that_is_valid_after_a_new_grant_is_found() {
        let (new, old) =
            *judge(vec![seen(1, 10, "a"), seen(4, 20, "b"), seen(5, 10, "a")]).unwrap_err();
        assert_eq!((new.at, old.at), (4, 5));
    }

    #[test]
    fn a_token_with_two_owners_is_found() {
        assert!(judge(vec![seen(1, 10, "a"), seen(2, 10, "b")]).is_err());
    }
}
