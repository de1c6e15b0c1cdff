//! What can be asked of the program.

pub(crate) mod check;
mod examples;
mod hint;
mod hold;
#[cfg(test)]
mod odd;
mod probed;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

pub(crate) use hint::parse;
pub(crate) use hold::{Hold, OnLoss, Release};
#[cfg(feature = "http")]
pub(crate) use probed::Dashboard;
pub(crate) use probed::Probed;
pub(crate) use status::Status;
#[cfg(feature = "views")]
pub(crate) use status::Top;

use crate::output::Format;

/// Under what the help of a command shows its options, in this order.
const ARGUMENTS: &str = "Arguments";
const WHEN: &str = "When it runs";
const OFFICE: &str = "The office";
const WAITING: &str = "Waiting";
const LOCK: &str = "The lock";
const COMMAND: &str = "The command";
const WHAT: &str = "What is done";
/// Of a server.
#[cfg_attr(not(feature = "http"), allow(dead_code))]
const ACCESS: &str = "Who may come";
const STORE: &str = "The store";
const LEASE: &str = "The lease";
const OUTPUT: &str = "Output";

/// Ends the short help of the program, which fits a screen.
const MORE: &str = "\
tenure help COMMAND tells more of one, tenure --help of all, tenure man all.";

const STORES: &str = "\
Where ownership is kept:
  sqlite:PATH          a file, for the processes of one host; the default is
                       $XDG_STATE_HOME/tenure/tenure.db (else ~/.local/state/…)
  redis://HOST …       and the other stores, for many hosts: see the manual

Exit codes: what the command exits with; 75 not acquired; 76 lost while the
command ran; 2 wrong usage; 65 something in the store is damaged; 69 the store
cannot be used; 71 this host would not; 73 the name has another schedule; 77 a
part of the command could not be ended; 78 not before somebody changes something;
1 something was found; 127 and 126 as in a shell; 128 + N ended by signal N.

Examples:
  tenure run nightly-report -- ./report.sh      one at a time, the others wait
  tenure run --no-wait sync -- rsync -a a/ b/   skip if it already runs
  eval \"$(tenure hold deploy)\"                 for the rest of a shell script
  tenure lead billing -- ./worker               one live worker among many hosts
  tenure schedule tidy --every 1h -- ./tidy     on one of many hosts, hourly
  tenure schedules                              when each runs, and how it went
  tenure status                                 who owns what
  tenure top                                    the same, live
  tenure dashboard                              the same, in a browser
  tenure demo                                   see a leader die and be replaced";

/// One owner at a time: locks and leaders for any command, on any store.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, max_term_width = 100)]
#[command(after_help = MORE, after_long_help = STORES)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Print the version
    #[arg(long, short = 'V', action = clap::ArgAction::Version, help_heading = OUTPUT)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = STORE)]
pub(crate) struct Common {
    /// The store, as in sqlite:/var/lib/locks.db; else $TENURE_URL. Everybody on
    /// this host can read a password here in the list of processes
    #[arg(long, global = true, conflicts_with = "url_file")]
    pub(crate) url: Option<String>,
    /// A file whose first line is that URL; else $TENURE_URL_FILE
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) url_file: Option<PathBuf>,
    /// A TOML file with url, ttl, transition, id, output
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How long ownership is undisputed without a renewal, as in 10s
    #[arg(long, global = true, value_name = "DUR", value_parser = duration, help_heading = LEASE)]
    pub(crate) ttl: Option<Duration>,
    /// How long after that only the owner may renew, as in 6s
    #[arg(long, global = true, value_name = "DUR", value_parser = duration, help_heading = LEASE)]
    pub(crate) transition: Option<Duration>,
    /// What this contender is called in the store
    #[arg(long, global = true, value_name = "ID", help_heading = LEASE)]
    pub(crate) id: Option<String>,
    /// How data is written to stdout
    #[arg(long, global = true, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) output: Option<Format>,
    /// Say more on stderr; twice: also every call to the store
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    #[arg(help_heading = OUTPUT)]
    pub(crate) verbose: u8,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    /// Print help; -h for a short one
    #[arg(short, long, global = true, action = clap::ArgAction::Help, help_heading = OUTPUT)]
    help: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Those with arguments are described there: a word here would hide it.
    Run(Run),
    Hold(Hold),
    Release(Release),
    Lead(Lead),
    Schedule(Schedule),
    Schedules(Schedules),
    Status(Status),
    #[cfg(feature = "views")]
    Top(Top),
    Watch(Watch),
    #[cfg(feature = "http")]
    Dashboard(Dashboard),
    /// Look at the store's health and set-up
    ///
    /// Each finding comes with what to do. A lock called tenure-doctor is
    /// really taken, waited for and freed. Exits with 0 only if all is well.
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    Init(Init),
    Revoke(Revoke),
    Prune(Prune),
    /// See a leader die and be replaced, on a temporary store
    ///
    /// Three processes contend on an SQLite file that is gone afterwards. Their
    /// leader is killed with a write still under way, the next one is paused, the
    /// third resigns; a schedule goes on over all of it. Live on a terminal, lines
    /// elsewhere (tenure demo | cat). Takes less than 30 seconds; exits with 0 if
    /// all was as it should be, and with 1 otherwise. q or Ctrl-C ends it early.
    #[command(after_help = examples::DEMO)]
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(help_heading = ARGUMENTS)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Take a lock, run a command, free the lock
///
/// The command gets TENURE_NAME, TENURE_TOKEN (give it to whatever the lock
/// protects, and let that refuse smaller ones) and TENURE_CONTENDER. It runs in
/// a process group of its own, which is stopped before the lock can be
/// another's, also when this program is killed or stopped.
#[derive(Args, Debug)]
#[command(after_help = examples::RUN, next_help_heading = LOCK)]
pub(crate) struct Run {
    /// What is locked
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) name: String,
    /// Wait at most this long for it; otherwise for ever
    #[arg(long, value_name = "DUR", value_parser = duration, conflicts_with = "no_wait")]
    #[arg(help_heading = WAITING)]
    pub(crate) wait: Option<Duration>,
    /// Do not wait at all
    #[arg(long, short = 'n', help_heading = WAITING)]
    pub(crate) no_wait: bool,
    /// Do nothing if it was run with success in this period, on any host
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) once_per: Option<Duration>,
    /// Hold the lock for at least this long, however short the command
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) at_least_for: Option<Duration>,
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) probed: Probed,
}

/// Stand for leader for ever; run a command while leading
///
/// When the command exits it is started again, after a pause that grows; when
/// leadership is lost it is stopped, and this contender stands again.
#[derive(Args, Debug)]
#[command(after_help = examples::LEAD, next_help_heading = OFFICE)]
pub(crate) struct Lead {
    /// What is led
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) name: String,
    /// Resign and exit with the command's code when it exits
    #[arg(long)]
    pub(crate) once: bool,
    /// Exit with 69 when the store cannot be reached at the start, instead of
    /// waiting for it
    #[arg(long, help_heading = WAITING)]
    pub(crate) fail_fast: bool,
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) probed: Probed,
}

/// Run a command on a schedule, in one place at a time
///
/// Start it with the same schedule on every host: the leader runs the command,
/// and when it dies the next one goes on where it stopped. The command gets
/// TENURE_RUN, the number of the run, and TENURE_DUE, when it was due, beside
/// TENURE_NAME, TENURE_TOKEN and TENURE_CONTENDER. All times are the store's.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("when").required(true).args(["every", "delay", "cron"]))]
#[command(after_help = examples::SCHEDULE, next_help_heading = WHEN)]
pub(crate) struct Schedule {
    /// What is scheduled
    #[arg(required_unless_present = "preview", help_heading = ARGUMENTS)]
    pub(crate) name: Option<String>,
    /// Runs begin this far apart
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) every: Option<Duration>,
    /// Each run begins this long after the end of the last
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) delay: Option<Duration>,
    /// Runs begin when the clock says so: minute hour day month weekday
    #[arg(long, value_name = "EXPR", conflicts_with = "initial_delay")]
    pub(crate) cron: Option<String>,
    /// The zone of --cron, as in Europe/Zurich; UTC unless given
    #[arg(long, value_name = "ZONE", conflicts_with_all = ["every", "delay"])]
    pub(crate) tz: Option<String>,
    /// The very first run waits this long
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) initial_delay: Option<Duration>,
    /// Exit with 69 when the store cannot be reached at the start, instead of
    /// waiting for it
    #[arg(long, help_heading = WAITING)]
    pub(crate) fail_fast: bool,
    /// A run that takes longer is ended, and has failed
    #[arg(long, value_name = "DUR", value_parser = duration, help_heading = COMMAND)]
    pub(crate) timeout: Option<Duration>,
    /// What becomes of runs that came due while no leader could run them
    #[arg(long, value_enum, default_value_t)]
    pub(crate) misfire: Misfire,
    /// Skip a run that is later than this when it could begin
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) late_limit: Option<Duration>,
    /// Run again what a leader began and did not finish
    #[arg(long)]
    pub(crate) rerun_unfinished: bool,
    /// Replace the schedule that this name has had so far
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) probed: Probed,
    /// Print when the next N runs would be, and do nothing: no store is asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) preview: Option<u16>,
    /// SIGTERM comes this long before SIGKILL when ownership cannot be renewed;
    /// less than the transition, half of it unless given
    #[arg(long, value_name = "DUR", value_parser = duration, help_heading = COMMAND)]
    pub(crate) grace: Option<Duration>,
    /// Give the command TENURE_URL also when there is a password in it
    #[arg(long, help_heading = COMMAND)]
    pub(crate) pass_url: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "preview", value_name = "CMD")]
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(crate) enum Misfire {
    /// None of them is run
    Skip,
    /// The last of them is run at once
    #[default]
    Once,
    /// All of them are run, one after the other
    Burst,
}

#[derive(Args, Debug)]
#[command(next_help_heading = COMMAND)]
pub(crate) struct Job {
    /// SIGTERM comes this long before SIGKILL when ownership cannot be renewed;
    /// less than the transition, half of it unless given
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) grace: Option<Duration>,
    /// Give the command TENURE_URL also when there is a password in it
    #[arg(long)]
    pub(crate) pass_url: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD", help_heading = ARGUMENTS)]
    pub(crate) command: Vec<OsString>,
}

/// Show every schedule of the store
///
/// Its plan, the last run (its number, how it went, how long it took, how late
/// it began) and when the next one is due. Work that is run --once-per period
/// is shown, too.
#[derive(Args, Debug)]
#[command(after_help = examples::SCHEDULES, next_help_heading = WHAT)]
pub(crate) struct Schedules {
    /// Only these
    #[arg(help_heading = ARGUMENTS, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Follow changes of owner
///
/// One line for each, until SIGINT or SIGTERM.
#[derive(Args, Debug)]
#[command(after_help = examples::WATCH, next_help_heading = WHAT)]
pub(crate) struct Watch {
    /// What to follow
    #[arg(required = true, help_heading = ARGUMENTS, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Exit with 69 when the store cannot be reached at the start, instead of
    /// waiting for it
    #[arg(long, help_heading = WAITING)]
    pub(crate) fail_fast: bool,
}

/// Free a mutex by force
///
/// Its owner is not asked, and goes on until its next renewal fails: for a
/// while two may believe to own it. One that status calls damaged is mended.
/// Asks first, unless --yes is given. An owner that would never learn of it,
/// such as Curator's in ZooKeeper, is left alone unless that is asked for.
#[derive(Args, Debug)]
#[command(after_help = examples::REVOKE, next_help_heading = WHAT)]
pub(crate) struct Revoke {
    /// What to free
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) name: String,
    /// Only if the owner still has this token
    #[arg(long, value_name = "N")]
    pub(crate) token: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Also from an owner that does not learn of it: there will be two who
    /// believe to own, until that one is ended
    #[arg(long)]
    pub(crate) even_if_its_owner_goes_on: bool,
}

/// Remove what no process has used for long
///
/// Rows, keys and nodes of mutexes that are neither owned nor waited for, and
/// were last taken before the given time. Their tokens go on rising. Ledgers of
/// schedules stay unless --schedules is given: a schedule whose ledger is gone
/// begins anew. First bring this version to every process that uses the store.
#[derive(Args, Debug)]
#[command(after_help = examples::PRUNE, next_help_heading = WHAT)]
pub(crate) struct Prune {
    /// Not used for this long, as in 30d
    #[arg(long, value_name = "DUR", value_parser = days)]
    pub(crate) unused_for: Duration,
    /// The ledgers of schedules too
    #[arg(long)]
    pub(crate) schedules: bool,
}

/// Set the store up, or print what sets it up
///
/// Makes the file, the tables or the nodes that are missing, and changes
/// nothing that is there. Printed, it is for an administrator to run: SQL, or
/// the commands of zkCli.sh.
#[derive(Args, Debug)]
#[command(after_help = examples::INIT, next_help_heading = WHAT)]
pub(crate) struct Init {
    /// Print it and change nothing
    #[arg(long)]
    pub(crate) print: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    tenure::backend::url::parse_duration(text).map_err(|error| error.to_string())
}

/// A duration that may be in days.
fn days(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 3600;
    match text
        .strip_suffix('d')
        .and_then(|number| number.parse::<u64>().ok())
    {
        Some(days) => days
            .checked_mul(DAY)
            .map(Duration::from_secs)
            .ok_or_else(|| "that is too long".to_owned()),
        None => duration(text).map_err(|error| format!("{error}; or whole days, as in 30d")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_arguments_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_description_and_examples() {
        let command = <Cli as clap::CommandFactory>::command();
        for mut part in command.get_subcommands().cloned() {
            let name = part.get_name().to_owned();
            assert!(part.get_about().is_some(), "{name} is not described");
            if matches!(name.as_str(), "completions" | "man") {
                continue;
            }
            let help = part.render_long_help().to_string();
            assert!(part.get_long_about().is_some(), "{name} has no long help");
            assert!(help.contains(&format!("  tenure {name}")), "{help}");
        }
    }

    /// In the order in which they are shown.
    const HEADINGS: [&str; 11] = [
        ARGUMENTS, WHEN, OFFICE, WAITING, LOCK, COMMAND, WHAT, ACCESS, STORE, LEASE, OUTPUT,
    ];

    #[test]
    fn every_option_of_every_command_stands_under_a_heading() {
        let mut program = <Cli as clap::CommandFactory>::command();
        program.build();
        let commands = program.get_subcommands();
        let commands = commands.filter(|command| command.get_name() != "help");
        for command in commands.chain([&program]) {
            let name = command.get_name();
            for option in command.get_arguments() {
                let heading = option.get_help_heading().unwrap_or("Options");
                assert!(HEADINGS.contains(&heading), "{name} {option}: {heading}");
                let is_positional = option.is_positional();
                assert_eq!(heading == ARGUMENTS, is_positional, "{name} {option}");
            }
            let help = command.clone().render_long_help().to_string();
            let places: Vec<usize> = HEADINGS
                .iter()
                .filter_map(|heading| help.find(&format!("\n{heading}:\n")))
                .collect();
            assert!(places.len() >= 3 && places.is_sorted(), "{name}: {help}");
            assert!(!help.contains("\nOptions:\n"), "{help}");
        }
    }

    #[test]
    fn what_is_unused_is_counted_in_days() {
        assert_eq!(days("30d"), Ok(Duration::from_secs(30 * 24 * 3600)));
        assert_eq!(days("5s"), Ok(Duration::from_secs(5)));
        assert!(days("2y").unwrap_err().contains("30d"));
    }

    #[test]
    fn what_follows_the_dashes_is_the_commands() {
        let cli = Cli::parse_from(["tenure", "run", "m", "--wait", "3s", "--", "a", "--wait"]);
        let Command::Run(run) = cli.command else {
            panic!("{cli:?}")
        };
        assert_eq!(run.wait, Some(Duration::from_secs(3)));
        assert_eq!(run.job.command, ["a", "--wait"]);
    }
}
