//! The command line.

use std::path::PathBuf;

use crate::Result;
use crate::environment::Store;
use crate::rows::Measurement;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Args {
    /// The stores to measure.
    pub stores: Vec<Store>,
    /// What to measure on them.
    pub measurements: Vec<Measurement>,
    /// How long and how often.
    pub effort: Effort,
    /// Where the results go as JSON.
    pub json: Option<PathBuf>,
    /// Where the chart goes.
    pub chart: Option<PathBuf>,
    /// The directory with `performance.md`, whose tables are replaced.
    pub docs: Option<PathBuf>,
}

/// How long and how often everything is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How often everything is measured, in turns.
    pub rounds: usize,
    /// For how long, each time.
    pub millis: u64,
    /// How many hand-overs make one measurement, the median of them.
    pub hand_overs: usize,
    /// For how long holding and waiting are watched.
    pub watch_millis: u64,
    /// How many names are held.
    pub names: Vec<usize>,
    /// How many names are waited for, in one process.
    pub waiting: usize,
    /// How many clients wait for one name.
    pub waiters: Vec<usize>,
    /// How many processes work at a time.
    pub processes: Vec<usize>,
    /// How many tasks share a process.
    pub tasks: usize,
}

impl Effort {
    fn full() -> Self {
        Self {
            rounds: 5,
            millis: 1_000,
            hand_overs: 11,
            watch_millis: 2_000,
            names: vec![1, 10, 100, 1_000, 10_000],
            waiting: 1_000,
            waiters: vec![1, 10, 100, 1_000],
            processes: vec![1, 4, 16, 64],
            tasks: 64,
        }
    }

    /// Enough to see that every row can be measured; no number of it means anything.
    fn quick() -> Self {
        Self {
            rounds: 1,
            millis: 50,
            hand_overs: 1,
            watch_millis: 100,
            names: vec![1, 20],
            waiting: 5,
            waiters: vec![1, 3],
            processes: vec![1, 2],
            tasks: 4,
        }
    }
}

/// Reads the command line.
pub fn parse(words: &[String]) -> Result<Args> {
    let mut args = Args {
        stores: Store::ALL.to_vec(),
        measurements: Measurement::ALL.to_vec(),
        effort: Effort::full(),
        json: None,
        chart: None,
        docs: None,
    };
    let (mut words, mut rounds) = (words.iter(), None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--store" => args.stores = stores(value()?)?,
            "--row" => args.measurements = measurements(value()?)?,
            "--rounds" => rounds = Some(value()?.parse()?),
            "--quick" => args.effort = Effort::quick(),
            "--json" => args.json = Some(value()?.into()),
            "--chart" => args.chart = Some(value()?.into()),
            "--docs" => args.docs = Some(value()?.into()),
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    args.effort.rounds = rounds.unwrap_or(args.effort.rounds);
    if args.effort.rounds == 0 {
        return Err("--rounds needs 1 or more".into());
    }
    let is_all = args.stores == Store::ALL && args.measurements == Measurement::ALL;
    if args.docs.is_some() && (!is_all || args.effort.rounds < 5) {
        return Err("the page needs every store and row, and at least five rounds".into());
    }
    Ok(args)
}

fn stores(list: &str) -> Result<Vec<Store>> {
    let mut stores = Vec::new();
    for key in list.split(',') {
        let store = Store::ALL.into_iter().find(|store| store.key() == key);
        stores.push(store.ok_or_else(|| format!("unknown store `{key}`"))?);
    }
    stores.sort_unstable();
    stores.dedup();
    Ok(stores)
}

fn measurements(list: &str) -> Result<Vec<Measurement>> {
    let mut chosen = Vec::new();
    for key in list.split(',') {
        let mut all = Measurement::ALL.into_iter();
        chosen.push(all.find(|one| one.key() == key).ok_or_else(|| {
            let known = Measurement::ALL.map(Measurement::key).join(", ");
            format!("unknown row `{key}`; there are {known}")
        })?);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn a_plain_run_measures_everything_five_times() {
        let args = parsed("").expect("nothing is needed");
        assert_eq!(args.stores, Store::ALL);
        assert_eq!(args.effort, Effort::full());
        assert!(args.effort.rounds >= 5);
    }

    #[test]
    fn stores_are_chosen_by_name() {
        let args = parsed("--store redis,memory --rounds 7 --quick").expect("a selection");
        assert_eq!(args.stores, [Store::Memory, Store::Redis]);
        assert_eq!(args.effort.rounds, 7);
        assert!(parsed("--store etcd").is_err());
        assert!(parsed("--rounds 0").is_err());
        assert!(parsed("--slow").is_err());
    }

    #[test]
    fn rows_are_chosen_by_name() {
        let args = parsed("--row hand-over,take-free,hand-over").expect("a selection");
        let chosen = [Measurement::TakeFree, Measurement::HandOver];
        assert_eq!(args.measurements, chosen);
        assert_eq!(parsed("").expect("all").measurements, Measurement::ALL);
        let error = parsed("--row handover").expect_err("no such row");
        assert!(error.to_string().contains("hand-over"), "{error}");
    }

    #[test]
    fn a_part_of_a_run_does_not_become_the_page() {
        assert!(parsed("--docs docs --quick").is_err());
        assert!(parsed("--docs docs --store redis").is_err());
        assert!(parsed("--docs docs --row hand-over").is_err());
        assert!(parsed("--docs docs").is_ok());
    }
}
