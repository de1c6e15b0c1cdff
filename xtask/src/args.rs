//! The command line, parsed into values. No command has side effects here.

use std::num::NonZeroUsize;

use crate::areas::Area;
use crate::crew::Size;
use crate::servers::Collection;

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Test(TestArgs),
    Bench(BenchArgs),
    /// Compare the instructions of the engine with what is written down, or write them down.
    Counts {
        write: bool,
    },
    /// Break stores under workers, and judge.
    Faults(BenchArgs),
    /// Let a fuzzer make up what comes from outside.
    Fuzz(FuzzArgs),
    CheckFeatures,
    /// The embedded store beside other users of SQLite.
    CheckSqlite,
    /// Compare the public API with what is written down, or write it down.
    Api {
        write: bool,
    },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestArgs {
    /// The areas to run, in the order of [`Area::ALL`]; empty means all of them.
    pub(crate) only: Vec<Area>,
    /// Servers that take the place of the system's.
    pub(crate) servers: Option<Collection>,
    pub(crate) no_install: bool,
    /// Whether a few that failed are run again by themselves.
    pub(crate) retry: bool,
    /// How many test programs run at a time.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Everything after `--`, for the test binaries.
    pub(crate) runner: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BenchArgs {
    /// The areas whose servers are needed; `memory` needs none.
    pub(crate) areas: Vec<Area>,
    pub(crate) no_install: bool,
    pub(crate) write_docs: bool,
    /// What the program itself is given.
    pub(crate) words: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzArgs {
    /// The targets of crates/fuzz; empty means all of them.
    pub(crate) targets: Vec<String>,
    /// For how long each.
    pub(crate) minutes: u64,
}

pub(crate) const USAGE: &str = "\
usage: cargo xtask <command>

  test [--only AREA[,AREA…]] [--servers COLLECTION] [--jobs N] [--no-install]
       [--retry] [-- ARGS…]
      Run the tests of all areas, or only of those named, and the examples.
      With --servers they run on other servers than the system's, which are
      fetched from Debian and unpacked under target/servers, not installed:
      newest (Debian sid), trixie, valkey, valkey-8, mysql (Oracle's).
      N test programs run at a time, by default one more than there are
      processors; with 1 their output is seen as it comes.
      On Debian and Ubuntu, as root or with sudo, missing servers are installed
      first; elsewhere, and with --no-install, they are listed and nothing runs.
      With --retry up to five tests that failed are run once more by themselves,
      unless one has seen two owners. Who passes then counts, and is named.
      ARGS go to the test binaries, as after `cargo test --`.
      areas: core, sqlite, redis, mysql, postgres, zookeeper, servers, counts, faults, browser, jvm, machine
             (jvm, real Redisson, Curator and Simba from Maven, only if named;
             machine, owners in a virtual machine that is paused, only if named)
      exit:  0 all passed, 1 a failure or no test at all, 2 usage, 3 programs missing

  bench [--store STORE[,STORE…]] [--row ROW[,ROW…]] [--rounds N] [--quick]
        [--json FILE] [--chart FILE] [--write-docs] [--no-install]
      Measure Tenure beside the bare stores and a peer, in turns, at least five
      rounds; half an hour for all of it. Missing servers are installed as by
      test. With --write-docs the tables of docs/performance.md are replaced, and
      the chart and the numbers written beside it.
      stores: memory, sqlite, redis, mysql, postgres, zookeeper
      rows:   take-free, on-disk, allocations, many-names, one-name, hand-over,
              killed, holding, waiting, waiters, processes

  faults [--store STORE[,STORE…]] [--seed N] [--minutes M] [--write-docs]
         [--undo NAME|all | --hunt FAULTS] [--no-install]
      Break stores under workers for M minutes each, in slices of one minute, and
      judge what the workers saw; see crates/faults/README.md. A slice that was
      run before is not run again: target/faults/results.json has them all. With
      --write-docs it is crates/faults/results.json, and the tables of the README
      are replaced. With --undo NAME or --undo all, bugs of the past
      (crates/faults/undone) are put back into a copy of the tree, and hunted
      for until they are found, for ten minutes or more. With --hunt FAULTS
      (semicolons between them, or any) slices are run until something is found.
      stores: sqlite, redis, sentinel, replicas, cluster, combination, mariadb,
              galera, postgres, zookeeper, ensemble, grace

  fuzz [--target TARGET[,TARGET…]] [--minutes M]
      Let LLVM's fuzzer make up what comes from outside, for M minutes (10) a
      target, and keep in crates/fuzz/corpus what has reached code that nothing
      else has. What was found is in target/fuzz. Needs a C++ compiler.

  counts [--write]
      Compare the instructions of the engine with crates/bench/counts.txt, or
      write them there.

  check-features
      Check the library with no feature and with each feature alone.

  check-sqlite
      Check that an application can use the embedded store beside sqlx, diesel
      or a rusqlite of its own, and run its tests with the oldest driver.

  api [--write]
      Compare the public API of the library with docs/api.txt, or write it there.

  help
      This text.";

impl TestArgs {
    pub(crate) fn size(&self) -> Size {
        let usual = Size::usual();
        Size {
            jobs: self.jobs.map_or(usual.jobs, NonZeroUsize::get),
            ..usual
        }
    }
}

/// # Errors
///
/// A sentence for the user; the caller adds the way to [`USAGE`].
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let Some(name) = args.next() else {
        return Ok(Command::Help);
    };
    match name.as_str() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "test" => parse_test(args),
        "bench" => parse_bench(args),
        "faults" => parse_faults(args),
        "fuzz" => parse_fuzz(args),
        "counts" => write_only("counts", args).map(|write| Command::Counts { write }),
        "check-features" => alone(Command::CheckFeatures, &name, args),
        "check-sqlite" => alone(Command::CheckSqlite, &name, args),
        "api" => write_only("api", args).map(|write| Command::Api { write }),
        other => Err(format!("unknown command `{other}`")),
    }
}

/// A command without arguments.
fn alone(
    command: Command,
    name: &str,
    mut args: impl Iterator<Item = String>,
) -> Result<Command, String> {
    match args.next() {
        None => Ok(command),
        Some(extra) => Err(format!("{name} takes no argument, got `{extra}`")),
    }
}

/// A command that takes `--write` or nothing.
fn write_only(name: &str, mut args: impl Iterator<Item = String>) -> Result<bool, String> {
    let (first, second) = (args.next(), args.next());
    match (first.as_deref(), second.as_deref()) {
        (None, _) => Ok(false),
        (Some("--write"), None) => Ok(true),
        (Some(other), None) | (Some(_), Some(other)) => {
            Err(format!("{name} takes only --write, got `{other}`"))
        }
    }
}

fn parse_bench(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut bench = BenchArgs {
        areas: STORES.iter().map(|(_, area)| *area).collect(),
        ..BenchArgs::default()
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--no-install" => bench.no_install = true,
            "--write-docs" => bench.write_docs = true,
            "--quick" => bench.words.push(arg),
            "--store" => {
                let list = value()?;
                bench.areas = list
                    .split(',')
                    .map(|name| find(&STORES, name))
                    .collect::<Result<_, _>>()?;
                bench.words.extend([arg, list]);
            }
            "--row" | "--rounds" | "--json" | "--chart" => {
                let value = value()?;
                bench.words.extend([arg, value]);
            }
            "--help" | "-h" => return Ok(Command::Help),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(Command::Bench(bench))
}

fn parse_fuzz(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut fuzz = FuzzArgs {
        targets: Vec::new(),
        minutes: 10,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--target" => fuzz.targets = value()?.split(',').map(str::to_owned).collect(),
            "--minutes" => {
                let minutes = value()?;
                let number = minutes.parse().ok().filter(|number| *number > 0);
                fuzz.minutes = number.ok_or(format!("`{minutes}` is no number of minutes"))?;
            }
            "--help" | "-h" => return Ok(Command::Help),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(Command::Fuzz(fuzz))
}

fn parse_faults(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut faults = BenchArgs {
        areas: TOPOLOGIES.iter().map(|(_, area)| *area).collect(),
        ..BenchArgs::default()
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--no-install" => faults.no_install = true,
            "--write-docs" => faults.write_docs = true,
            "--store" => {
                let list = value()?;
                let areas = list.split(',').map(|name| find(&TOPOLOGIES, name));
                faults.areas = areas.collect::<Result<_, _>>()?;
                faults.words.extend([arg, list]);
            }
            "--seed" | "--minutes" | "--seconds" | "--undo" | "--hunt" => {
                let value = value()?;
                faults.words.extend([arg, value]);
            }
            "--help" | "-h" => return Ok(Command::Help),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(Command::Faults(faults))
}

/// The stores that can be broken, and the areas that have their servers.
const TOPOLOGIES: [(&str, Area); 12] = [
    ("sqlite", Area::Sqlite),
    ("redis", Area::Redis),
    ("sentinel", Area::Redis),
    ("replicas", Area::Redis),
    ("cluster", Area::Redis),
    ("combination", Area::Redis),
    ("grace", Area::Redis),
    ("mariadb", Area::Mysql),
    ("galera", Area::Mysql),
    ("postgres", Area::Postgres),
    ("zookeeper", Area::Zookeeper),
    ("ensemble", Area::Zookeeper),
];

/// The stores that can be measured, and the areas that have their servers.
const STORES: [(&str, Area); 6] = [
    ("memory", Area::Core),
    ("sqlite", Area::Sqlite),
    ("redis", Area::Redis),
    ("mysql", Area::Mysql),
    ("postgres", Area::Postgres),
    ("zookeeper", Area::Zookeeper),
];

fn find(stores: &[(&str, Area)], name: &str) -> Result<Area, String> {
    let found = stores.iter().find(|(store, _)| *store == name);
    found
        .map(|(_, area)| *area)
        .ok_or_else(|| format!("unknown store `{name}`"))
}

fn parse_test(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut test = TestArgs::default();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => {
                let list = args.next().ok_or("--only needs at least one area")?;
                select(&mut test.only, &list)?;
            }
            "--servers" => test.servers = Some(collection(args.next().as_deref())?),
            "--no-install" => test.no_install = true,
            "--retry" => test.retry = true,
            "--jobs" => test.jobs = Some(number(args.next().as_deref())?),
            "--help" | "-h" => return Ok(Command::Help),
            "--" => test.runner = args.by_ref().collect(),
            other => match other.split_once('=') {
                Some(("--only", list)) => select(&mut test.only, list)?,
                Some(("--servers", name)) => test.servers = Some(collection(Some(name))?),
                _ => return Err(format!("unknown argument `{other}`")),
            },
        }
    }
    // One order, so that the plan and the closing line do not depend on how it was typed.
    test.only.sort_unstable();
    test.only.dedup();
    Ok(Command::Test(test))
}

fn collection(word: Option<&str>) -> Result<Collection, String> {
    word.and_then(Collection::from_name).ok_or_else(|| {
        format!(
            "--servers needs a collection of servers: {}",
            Collection::list()
        )
    })
}

fn number(word: Option<&str>) -> Result<NonZeroUsize, String> {
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| "--jobs needs a number of test programs, 1 or more".to_owned())
}

fn select(only: &mut Vec<Area>, list: &str) -> Result<(), String> {
    for name in list.split(',').map(str::trim) {
        only.push(Area::from_name(name).ok_or_else(|| {
            format!(
                "unknown area `{name}`; the areas are {}",
                Area::list(&Area::ALL)
            )
        })?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn test_args(line: &str) -> TestArgs {
        match parsed(line) {
            Ok(Command::Test(args)) => args,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn no_command_asks_for_help() {
        assert_eq!(parsed(""), Ok(Command::Help));
        assert_eq!(parsed("test --help"), Ok(Command::Help));
    }

    #[test]
    fn a_plain_test_run_is_a_full_run() {
        assert_eq!(test_args("test"), TestArgs::default());
    }

    #[test]
    fn areas_may_be_repeated_or_separated_by_commas() {
        let expected = [Area::Core, Area::Sqlite, Area::Redis];
        assert_eq!(
            test_args("test --only redis,core --only=sqlite,core").only,
            expected
        );
    }

    #[test]
    fn an_unknown_area_is_answered_with_the_list() {
        let error = parsed("test --only etcd").unwrap_err();
        assert!(error.contains("`etcd`"), "{error}");
        assert!(
            error.contains(
                "core, sqlite, redis, mysql, postgres, zookeeper, servers, counts, faults, browser, jvm, machine"
            ),
            "{error}"
        );
    }

    #[test]
    fn an_only_without_areas_is_an_error() {
        assert!(parsed("test --only").is_err());
        assert!(parsed("test --only=").is_err());
    }

    #[test]
    fn a_number_of_jobs_is_one_or_more() {
        assert_eq!(test_args("test --jobs 1").size().jobs, 1);
        assert!(test_args("test").size().jobs > 1);
        for line in ["test --jobs", "test --jobs 0", "test --jobs many"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn servers_are_a_collection_that_is_known() {
        for line in ["test --servers mysql", "test --servers=mysql"] {
            assert_eq!(test_args(line).servers, Some(Collection::MySql));
        }
        for line in ["test --servers", "test --servers etcd"] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains("newest, trixie, valkey"), "{error}");
        }
    }

    #[test]
    fn everything_after_two_dashes_goes_to_the_runner() {
        let args = test_args("test --no-install -- --only x --nocapture");
        assert!(args.no_install && args.only.is_empty());
        assert_eq!(args.runner, ["--only", "x", "--nocapture"]);
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(parsed("tset").is_err());
        assert!(parsed("test --onyl core").is_err());
        assert!(parsed("check-features serde").is_err());
    }

    #[test]
    fn a_bench_needs_the_servers_of_its_stores() {
        let bench = |line: &str| match parsed(line) {
            Ok(Command::Bench(args)) => args,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(bench("bench").areas.len(), STORES.len());
        let line = "bench --store redis,memory --row killed --rounds 7 --quick";
        let args = bench(&format!("{line} --write-docs"));
        assert_eq!(args.areas, [Area::Redis, Area::Core]);
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        assert_eq!(args.words, words);
        assert!(args.write_docs && !args.no_install);
        for line in ["bench --store etcd", "bench --json", "bench fast"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_fuzzer_tries_everything_for_ten_minutes_unless_told() {
        let fuzz = |line: &str| match parsed(line) {
            Ok(Command::Fuzz(args)) => (args.targets.join(" "), args.minutes),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(fuzz("fuzz"), (String::new(), 10));
        let some = fuzz("fuzz --target urls,sql --minutes 1");
        assert_eq!(some, ("urls sql".to_owned(), 1));
        for line in [
            "fuzz urls",
            "fuzz --minutes 0",
            "fuzz --minutes",
            "fuzz --target",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_written_down_is_written_only_when_asked_for() {
        assert_eq!(parsed("counts"), Ok(Command::Counts { write: false }));
        assert_eq!(
            parsed("counts --write"),
            Ok(Command::Counts { write: true })
        );
        assert_eq!(parsed("api --write"), Ok(Command::Api { write: true }));
        assert!(parsed("counts --write now").is_err());
        assert!(parsed("api now").is_err());
    }

    #[test]
    fn the_usage_names_every_area() {
        assert!(USAGE.contains(&Area::list(&Area::ALL)));
    }

    #[test]
    fn the_usage_names_every_collection() {
        for collection in Collection::ALL {
            assert!(USAGE.contains(collection.name()), "{collection:?}");
        }
    }
}
