//! What the help of each command ends with.

pub(super) const RUN: &str = "\
Examples:
  tenure run nightly-report -- ./report.sh         one at a time, the others wait
  tenure run --no-wait sync -- rsync -a a/ b/      or do nothing (exit code 75)
  tenure run --wait 30s deploy -- ./deploy.sh      or give up after 30 s
  tenure run --once-per 24h nightly -- ./nightly   from cron on every host: one runs it
  tenure run db -- sh -c 'psql -v token=$TENURE_TOKEN -f migrate.sql'";

pub(super) const HOLD: &str = "\
Examples, in a script:
  eval \"$(tenure hold deploy)\"                      waits; the script ends if it fails
  lock=$(tenure hold -n deploy) && eval \"$lock\"     or goes on and knows
  ./deploy.sh --fence \"$TENURE_TOKEN\"
  tenure release
  tenure hold --pid $$ --output json deploy          for another program";

pub(super) const RELEASE: &str = "\
Examples:
  tenure release                 the lock that this script holds
  tenure release deploy          one of several";

pub(super) const LEAD: &str = "\
Examples:
  tenure lead billing -- ./worker                  on every host; one works
  tenure lead --once import -- ./import            until it is done
  tenure lead web --http 127.0.0.1:4040 -- ./web   and tell neighbours who leads";

pub(super) const SCHEDULE: &str = "\
Examples:
  tenure schedule tidy --every 1h -- ./tidy
  tenure schedule report --cron '30 2 * * *' --tz Europe/Zurich -- ./report
  tenure schedule poll --delay 10s --timeout 1m --misfire skip -- ./poll
  tenure schedule mail --cron '0 8 * * *' --late-limit 4h -- ./mail   never after noon
  tenure schedule --cron '30 2 * * *' --tz Europe/Zurich --preview 10";

pub(super) const SCHEDULES: &str = "\
Examples:
  tenure schedules                         all of them
  tenure schedules tidy report             only these
  tenure schedules --output json | jq -r 'select(.result != \"done\") | .name'";

pub(super) const STATUS: &str = "\
Examples:
  tenure status                          all that the store knows of
  tenure status billing nightly-report   only these
  tenure status --output json | jq .     for a program
  tenure top                             live, on a terminal";

#[cfg(feature = "views")]
pub(super) const TOP: &str = "\
Examples:
  tenure top                             all that the store knows of
  tenure top billing nightly-report      only these";

#[cfg(feature = "http")]
pub(super) const DASHBOARD: &str = "\
Examples:
  tenure dashboard                                   http://127.0.0.1:4080/
  tenure dashboard --listen 127.0.0.1:0              on any free port, which it prints
  tenure dashboard --allow-revoke                    and mutexes can be freed by force
  tenure dashboard --listen 0.0.0.0:4080 --token-file token --tls-cert c.pem --tls-key k.pem
  ssh -L 4080:127.0.0.1:4080 host tenure dashboard   from another host";

pub(super) const WATCH: &str = "\
Examples:
  tenure watch billing                   each change of its leader
  tenure watch a b --output json         for a program: one object a line";

pub(super) const REVOKE: &str = "\
Examples:
  tenure revoke nightly-report           says who owns it, and asks
  tenure revoke nightly-report --yes     from a script
  tenure revoke billing --token 42       only if its owner has not changed";

pub(super) const PRUNE: &str = "\
Examples:
  tenure prune --unused-for 90d                mutexes that nobody took for 90 days
  tenure prune --unused-for 800d --schedules   and ledgers that nobody used for 800 days";

pub(super) const DOCTOR: &str = "\
Examples:
  tenure doctor --url redis://cache
  tenure doctor --output json | jq 'select(.severity != \"good\")'";

pub(super) const INIT: &str = "\
Examples:
  tenure init --url postgres://owner@db/app           make the tables
  tenure init --print --url mysql://app@db/app        the SQL, for an administrator
  tenure init --print --url redis://app@cache         the ACL of a Redis user";

pub(super) const DEMO: &str = "\
Examples:
  tenure demo                            live
  tenure demo | cat                      as lines";
