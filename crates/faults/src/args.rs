//! What the program is told.

use std::path::PathBuf;

use crate::topology::ALL;
use crate::undone::ANY;

/// How long a slice lasts: a run that is ended loses no more than that.
pub const SLICE_SECONDS: u64 = 60;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// The topologies, one after the other.
    pub stores: Vec<String>,
    /// What everything is chosen by.
    pub seed: u64,
    /// How much of each.
    pub seconds: u64,
    /// Where what is run is added up.
    pub results: PathBuf,
    /// Where reports and bad histories go.
    pub reports: PathBuf,
    /// A page whose tables are replaced.
    pub page: Option<PathBuf>,
    /// Only these faults, until something is found; all if there are none. Nothing is added up.
    pub hunt: Option<Vec<String>>,
    /// The bug of the past that is put back, or `all`.
    pub undo: Option<String>,
}

/// What can be said.
pub const USAGE: &str = "\
usage: tenure-faults [--store STORE[,STORE…]] [--seed N] [--minutes M | --seconds S]
                     [--results FILE] [--reports DIRECTORY] [--page FILE]
                     [--hunt FAULT[;FAULT…]|any]
       tenure-faults --undo NAME|all [--seconds S]";

impl Args {
    /// Reads `words`.
    ///
    /// # Errors
    /// A sentence for people.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            stores: ALL.iter().map(|&store| store.to_owned()).collect(),
            seed: 1,
            seconds: SLICE_SECONDS,
            results: PathBuf::from("target/faults/results.json"),
            reports: PathBuf::from("target/faults"),
            page: None,
            hunt: None,
            undo: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} takes a value"))?;
            let number = || {
                let number = value.parse::<f64>().ok().filter(|number| *number >= 0.0);
                number.ok_or_else(|| format!("{word} takes a number"))
            };
            match word.as_str() {
                "--store" => {
                    args.stores = value.split(',').map(str::to_owned).collect();
                    let is_unknown = |store: &&String| !ALL.contains(&store.as_str());
                    if let Some(store) = args.stores.iter().find(is_unknown) {
                        let all = ALL.join(", ");
                        return Err(format!("there is no store {store:?}; there are {all}"));
                    }
                }
                "--seed" => {
                    let seed = value.parse();
                    args.seed = seed.map_err(|_| "--seed takes a whole number".to_owned())?;
                }
                "--minutes" => args.seconds = (number()? * 60.0).round() as u64,
                "--seconds" => args.seconds = number()?.round() as u64,
                "--results" => args.results = value.into(),
                "--reports" => args.reports = value.into(),
                "--page" => args.page = Some(value.into()),
                "--hunt" => {
                    let faults = value.split(';').map(str::trim).filter(|it| *it != ANY);
                    args.hunt = Some(faults.map(str::to_owned).collect());
                }
                "--undo" => args.undo = Some(value),
                _ => return Err(format!("unknown argument {word:?}")),
            }
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn everything_is_run_for_a_minute_unless_said() {
        let args = parse("").unwrap();
        assert_eq!((args.stores.len(), args.seconds), (ALL.len(), 60));
        let args = parse("--store redis,sqlite --minutes 1.5 --seed 7").unwrap();
        assert_eq!(args.stores, ["redis", "sqlite"]);
        assert_eq!((args.seconds, args.seed), (90, 7));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for line in [
            "--store etcd",
            "--seed",
            "--seed x",
            "--minutes -1",
            "--colour red",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
