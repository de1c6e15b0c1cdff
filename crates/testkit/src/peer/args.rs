//! What a peer is told at its start.

use std::path::PathBuf;
use std::time::Duration;

use tenure::backend::url::parse_duration;
use tenure::model::LeaseTerms;
use tenure::{Error, Result};

/// The arguments of a peer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Args {
    /// The store.
    pub url: String,
    /// The mutex.
    pub name: String,
    /// The contender's id; otherwise a generated one.
    pub id: Option<String>,
    /// The terms; otherwise the URL's or the usual ones.
    pub terms: Option<LeaseTerms>,
    /// How long a tenure is kept; otherwise for as long as it can be.
    pub hold: Option<Duration>,
    /// How long to stay away after a tenure was given up.
    pub rest: Duration,
    /// After how many tenures to end.
    pub rounds: Option<u64>,
    /// Instead of contending: take, renew and release so many names as fast as
    /// the store can, for ever.
    pub churn: Option<u64>,
    /// Instead of contending with a service: hold a reentrant lock so many
    /// levels deep.
    pub reentrant: Option<u64>,
    /// Instead of contending with a service: try once to take the lock, under a
    /// generator that makes the same id for ever, or without one under a UUID.
    pub try_lock: bool,
    /// Where observations are appended.
    pub journal: Option<PathBuf>,
}

impl Args {
    /// Reads `args`, the program's name not among them.
    ///
    /// # Errors
    /// [`Invalid`](tenure::ErrorKind::Invalid) for an argument that is unknown,
    /// missing or malformed.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut args = args.into_iter();
        let mut plain = Vec::new();
        let (mut ttl, mut transition) = (None, None);
        let mut read = Self {
            url: String::new(),
            name: String::new(),
            id: None,
            terms: None,
            hold: None,
            rest: Duration::ZERO,
            rounds: None,
            churn: None,
            reentrant: None,
            try_lock: false,
            journal: None,
        };
        while let Some(arg) = args.next() {
            let Some(option) = arg.strip_prefix("--") else {
                plain.push(arg);
                continue;
            };
            let value = args
                .next()
                .ok_or_else(|| Error::invalid(format!("--{option} takes a value")))?;
            match option {
                "id" => read.id = Some(value),
                "ttl" => ttl = Some(parse_duration(&value)?),
                "transition" => transition = Some(parse_duration(&value)?),
                "hold" => read.hold = Some(parse_duration(&value)?),
                "rest" => read.rest = parse_duration(&value)?,
                "rounds" => read.rounds = Some(number(option, &value)?),
                "churn" => read.churn = Some(number(option, &value)?),
                "reentrant" => read.reentrant = Some(number(option, &value)?),
                "try-lock" => read.try_lock = number(option, &value)? > 0,
                "journal" => read.journal = Some(value.into()),
                _ => return Err(Error::invalid(format!("there is no option --{option}"))),
            }
        }
        let [url, name] = <[String; 2]>::try_from(plain)
            .map_err(|_| Error::invalid("a peer takes a URL and a name"))?;
        if ttl.is_some() || transition.is_some() {
            let usual = LeaseTerms::default();
            read.terms = Some(LeaseTerms::new(
                ttl.unwrap_or(usual.ttl()),
                transition.unwrap_or(usual.transition()),
            )?);
        }
        Ok(Self { url, name, ..read })
    }
}

fn number(option: &str, value: &str) -> Result<u64> {
    let number = value.parse();
    number.map_err(|_| Error::invalid(format!("--{option} takes a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args> {
        Args::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn options_may_stand_anywhere() {
        let args = parse("--ttl 3s memory: --id a m --rounds 7").unwrap();
        assert_eq!((&*args.url, &*args.name), ("memory:", "m"));
        assert_eq!((args.id.as_deref(), args.rounds), (Some("a"), Some(7)));
        assert_eq!(args.terms.unwrap().ttl(), Duration::from_secs(3));
    }

    #[test]
    fn what_is_unknown_or_missing_is_refused() {
        for line in [
            "memory:",
            "memory: m more",
            "memory: m --colour red",
            "memory: m --id",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
