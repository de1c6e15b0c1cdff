//! Events as lines of text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tenure::LossCause;
use tenure::model::{ContenderId, FencingToken, MutexName};

use super::{Event, TenureId, What};

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine(Box<str>);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no event of a history: {:?}", self.0)
    }
}

impl std::error::Error for BadLine {}

/// A word without blanks: those, and `%` itself, are written as `%` and hex.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            if letter.is_whitespace() || letter.is_control() || letter == '%' {
                write!(f, "%{:x};", u32::from(letter))?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

fn unescape(word: &str) -> Option<String> {
    let mut parts = word.split('%');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_once(';')?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    Some(text)
}

impl fmt::Display for TenureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, contender) = (Word(self.name.as_str()), Word(self.contender.as_str()));
        write!(f, "{name} {contender} {}", self.token)
    }
}

impl fmt::Display for Event {
    /// `NANOSECONDS PROCESS WHAT …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.at.as_nanos(), Word(&self.process))?;
        match &self.what {
            What::Granted { tenure, deadline } => {
                write!(f, "granted {tenure} {}", deadline.as_nanos())
            }
            What::Extended { tenure, deadline } => {
                write!(f, "extended {tenure} {}", deadline.as_nanos())
            }
            What::Ended { tenure, cause } => {
                let cause = format!("{cause:?}").to_lowercase();
                write!(f, "ended {tenure} {cause}")
            }
            What::Written {
                resource,
                token,
                accepted,
            } => {
                let verdict = if *accepted { "accepted" } else { "refused" };
                write!(f, "written {} {token} {verdict}", Word(resource))
            }
            What::StoreLost { grace } => write!(f, "store-lost {}", grace.as_nanos()),
            What::Asked { name } => write!(f, "asked {}", Word(name.as_str())),
            What::Used {
                tenure,
                answered,
                accepted,
                valid,
            } => {
                let answered = answered.as_nanos();
                let accepted = if *accepted { "accepted" } else { "refused" };
                let valid = if *valid { "valid" } else { "late" };
                write!(f, "used {tenure} {answered} {accepted} {valid}")
            }
            What::Ran {
                schedule,
                tick,
                token,
                is_rerun,
                ended,
            } => {
                let schedule = Word(schedule.as_str());
                let again = if *is_rerun { "again" } else { "first" };
                write!(f, "ran {schedule} {tick} {token} {again} ")?;
                match ended {
                    Some(ended) => write!(f, "{}", ended.as_nanos()),
                    None => write!(f, "begins"),
                }
            }
            What::Fault { what, is_over } => {
                let word = if *is_over { "mended" } else { "broken" };
                write!(f, "{word} {}", Word(what))
            }
            What::Forgot { since } => write!(f, "forgot {}", since.as_nanos()),
        }
    }
}

impl FromStr for Event {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        event(line).ok_or_else(|| BadLine(line.into()))
    }
}

fn event(line: &str) -> Option<Event> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let at = time(word()?)?;
    let process = unescape(word()?)?.into();
    let what = match word()? {
        "granted" => What::Granted {
            tenure: tenure(&mut word)?,
            deadline: time(word()?)?,
        },
        "extended" => What::Extended {
            tenure: tenure(&mut word)?,
            deadline: time(word()?)?,
        },
        "ended" => What::Ended {
            tenure: tenure(&mut word)?,
            cause: match word()? {
                "deadline" => LossCause::Deadline,
                "taken" => LossCause::Taken,
                "released" => LossCause::Released,
                "closed" => LossCause::Closed,
                "unclaimed" => LossCause::Unclaimed,
                "clockjump" => LossCause::ClockJump,
                "forked" => LossCause::Forked,
                _ => return None,
            },
        },
        "written" => What::Written {
            resource: unescape(word()?)?.into(),
            token: word()?.parse().ok()?,
            accepted: one_of(word()?, "accepted", "refused")?,
        },
        "store-lost" => What::StoreLost {
            grace: time(word()?)?,
        },
        "asked" => What::Asked {
            name: MutexName::new(unescape(word()?)?).ok()?,
        },
        "used" => What::Used {
            tenure: tenure(&mut word)?,
            answered: time(word()?)?,
            accepted: one_of(word()?, "accepted", "refused")?,
            valid: one_of(word()?, "valid", "late")?,
        },
        "ran" => What::Ran {
            schedule: MutexName::new(unescape(word()?)?).ok()?,
            tick: word()?.parse().ok()?,
            token: word()?.parse().ok()?,
            is_rerun: one_of(word()?, "again", "first")?,
            ended: match word()? {
                "begins" => None,
                ended => Some(time(ended)?),
            },
        },
        fault @ ("broken" | "mended") => What::Fault {
            what: unescape(word()?)?.into(),
            is_over: fault == "mended",
        },
        "forgot" => What::Forgot {
            since: time(word()?)?,
        },
        _ => return None,
    };
    word().is_none().then_some(Event { at, process, what })
}

/// True for the word `yes`, false for the word `no`.
fn one_of(word: &str, yes: &str, no: &str) -> Option<bool> {
    (word == yes || word == no).then_some(word == yes)
}

fn time(word: &str) -> Option<Duration> {
    word.parse().ok().map(Duration::from_nanos)
}

fn tenure<'a>(word: &mut impl FnMut() -> Option<&'a str>) -> Option<TenureId> {
    Some(TenureId {
        name: MutexName::new(unescape(word()?)?).ok()?,
        contender: ContenderId::new(unescape(word()?)?).ok()?,
        token: word()?.parse::<FencingToken>().ok()?,
    })
}
