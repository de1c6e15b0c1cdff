//! Trouble with the store is told: once, again when it is another, and when it
//! is over. What waiting cannot mend ends the program with a code of its own.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use tenure_testkit::servers::{Postgres, Redis};

use super::restart::server;
use super::stores::{Store, on_store};
use super::support::{Home, Screen, Started, code, eventually, start};

const WELL: &str = "all is well again";
const TROUBLE: &str = "trouble with ";

/// A program and what it says.
struct Speaker<'a> {
    home: &'a Home,
    what: &'static str,
    process: Started,
}

impl<'a> Speaker<'a> {
    fn new(home: &'a Home, what: &'static str, command: &mut Command) -> Self {
        let said = File::create(home.path(what)).unwrap();
        let process = start(command.stderr(said).stdout(std::process::Stdio::null()));
        Self {
            home,
            what,
            process,
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.home.path(self.what)).unwrap()
    }

    fn says(&self, words: &str) {
        let what = self.what;
        let end = std::time::Instant::now() + super::support::PATIENCE;
        while !self.said().contains(words) {
            let said = self.said();
            assert!(
                std::time::Instant::now() < end,
                "{what} never says {words:?}, but {said:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn count(&self, words: &str) -> usize {
        self.said().matches(words).count()
    }

    /// Ends at once with 78, and one line that says why.
    fn gives_up(&mut self, words: &str) {
        let what = format!("{} ends", self.what);
        eventually(&what, || self.process.0.try_wait().unwrap().is_some());
        let ended = code(&mut self.process.0);
        let said = self.said();
        assert_eq!(ended, Some(78), "{}: {said}", self.what);
        assert!(said.contains(words), "{}: {said}", self.what);
        assert_eq!(said.lines().count(), 1, "{}: {said}", self.what);
    }
}

/// A script that holds the mutex in `$1`. It ends with what `hold` printed,
/// and with 99 if that is something else than `hold` ended with.
const HOLD: &str = r#"lock=$("$TENURE" hold "$1"); code=$?
    [ $code = 0 ] || [ "$lock" = "exit $code" ] || exit 99
    eval "$lock"; "$TENURE" release"#;

/// The words of the command `what`, for this mutex.
fn line<'a>(what: &str, mutex: &'a str) -> Vec<&'a str> {
    match what {
        "hold" => vec!["sh", "-c", HOLD, "sh", mutex],
        _ => [&[env!("CARGO_BIN_EXE_tenure")][..], &words(what, mutex)].concat(),
    }
}

fn command(home: &Home, what: &str, mutex: &str) -> Command {
    let line = line(what, mutex);
    let mut command = home.command(line[0]);
    command.args(&line[1..]);
    command
}

/// The command `what`, for this mutex.
fn words<'a>(what: &str, mutex: &'a str) -> Vec<&'a str> {
    match what {
        "run" => vec!["run", mutex, "--", "true"],
        "lead" => vec!["lead", mutex, "--", "sleep", "600"],
        "schedule" => vec!["schedule", mutex, "--every", "200ms", "--", "true"],
        _ => vec!["watch", mutex],
    }
}

fn all_give_up(home: &Home, commands: &[&'static str], why: &str) {
    let start =
        |what: &&'static str| Speaker::new(home, what, &mut command(home, what, home.mutex()));
    for mut speaker in commands.iter().map(start).collect::<Vec<_>>() {
        speaker.gives_up(why);
    }
}

const WRITERS: [&str; 4] = ["run", "lead", "schedule", "hold"];
const ALL: [&str; 5] = ["run", "lead", "schedule", "hold", "watch"];

#[test]
fn a_key_of_another_type_is_not_waited_for() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let key = format!("simba:{{{}}}", home.mutex());
    server.command(&["HSET", &key, "a", "1"]).unwrap();
    all_give_up(&home, &ALL, "choose another mutex name");
    server.command(&["DEL", &key]).unwrap();
    let ledger = format!("{key}:schedule");
    server.command(&["SET", &ledger, "x"]).unwrap();
    all_give_up(&home, &["schedule"], "choose another mutex name");
}

/// One sick thing does not silence the healthy ones.
#[test]
fn watch_goes_on_with_the_names_that_are_well() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    server.command(&["HSET", "simba:{bad}", "a", "1"]).unwrap();
    let mut watcher = Speaker::new(&home, "watch", &mut home.tenure(["watch", "bad", "good"]));
    watcher.says("trouble with bad");
    server.command(&["DEL", "simba:{bad}"]).unwrap();
    watcher.says(WELL);
    assert_eq!(watcher.said().lines().count(), 2, "{}", watcher.said());
    for name in ["bad", "good"] {
        let key = format!("simba:{{{name}}}");
        server.command(&["HSET", &key, "a", "1"]).unwrap();
    }
    assert_eq!(code(&mut watcher.process.0), Some(78), "{}", watcher.said());
}

#[test]
fn a_redis_user_without_the_commands_is_told() {
    let server = Redis::start().unwrap();
    let admit = |user: &str, rest: &[&str]| {
        let words = ["ACL", "SETUSER", user, "on", ">pw", "~*", "&*"];
        server.command(&[&words[..], rest].concat()).unwrap();
        Home::at(format!("redis://{user}:pw@{}", server.address()))
    };
    let home = admit("mute", &["+@all", "-eval", "-evalsha"]);
    all_give_up(&home, &ALL, "lacks a permission");
    let home = admit("clerk", &["+@all", "-hset"]);
    all_give_up(&home, &["schedule"], "lacks a permission");
}

/// The table on a terminal has its first line for trouble, and ends as well.
#[test]
fn a_table_that_may_not_be_read_any_more_is_given_up() {
    let server = Redis::start().unwrap();
    let acl = ["ACL", "SETUSER", "guest", "on", ">pw", "~*", "&*"];
    server.command(&[&acl[..], &["+@all"]].concat()).unwrap();
    let home = Home::at(format!("redis://guest:pw@{}", server.address()));
    let screen = Screen::show(
        &home,
        "stty rows 20 cols 120; \"$TENURE\" top; echo $? > ended",
    );
    screen.sees("owned,");
    server.command(&[&acl[..], &["-@all"]].concat()).unwrap();
    screen.sees("lacks a permission");
    assert_eq!(home.line("ended"), "78");
}

on_store!(mariadb MariaDb who_may_only_read_is_told who_may_not_write_the_ledger_is_told);
on_store!(postgres Postgres who_may_only_read_is_told who_may_not_write_the_ledger_is_told);

/// A user of the shared server who may do this to mutexes, and that to ledgers.
fn user(store: Store, name: &str, mutexes: &str, ledgers: &str) -> Home {
    let place = store.place().unwrap();
    let admin = Home::at(&place);
    assert_eq!(admin.output(["init"]).status.code(), Some(0));
    let (scheme, rest) = place.split_once("://").unwrap();
    let host = rest.rsplit('@').next().unwrap();
    let (who, made) = match store {
        Store::MariaDb => {
            let who = format!("'{name}'@'%'");
            let made = format!("CREATE USER {who} IDENTIFIED BY 'pw';");
            (who, made)
        }
        _ => (
            name.to_owned(),
            format!("CREATE ROLE {name} LOGIN PASSWORD 'pw';"),
        ),
    };
    store.sql(&format!(
        "{made} GRANT {mutexes} ON simba_mutex TO {who}; GRANT {ledgers} ON tenure_schedule TO {who};"
    ));
    Home::at(format!("{scheme}://{name}:pw@{host}"))
}

fn who_may_only_read_is_told(store: Store) {
    let home = user(store, "reader", "SELECT", "SELECT");
    all_give_up(&home, &WRITERS, "denied");
}

fn who_may_not_write_the_ledger_is_told(store: Store) {
    let writes = "SELECT, INSERT, UPDATE, DELETE";
    let home = user(store, "clerk", writes, "SELECT");
    all_give_up(&home, &["schedule"], "denied");
}

#[test]
fn a_node_that_is_not_for_us_is_told() {
    let place = Store::ZooKeeper.place().unwrap();
    let host = place.strip_prefix("zookeeper://").unwrap();
    let theirs = Home::at(format!("zookeeper://them:pw@{host}/theirs?acl=creator"));
    let ran = theirs.output(["run", theirs.mutex(), "--", "true"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let home = Home::at(format!("{place}/theirs"));
    all_give_up(&home, &WRITERS, "ACL does not allow");
    // What is not there may be looked for; what is there may not be read.
    let mut watch = home.tenure(["watch", theirs.mutex()]);
    Speaker::new(&home, "watch", &mut watch).gives_up("ACL does not allow");
}

#[test]
fn a_file_that_we_may_not_write_is_told() {
    let home = Home::new();
    let made = home.output(["init"]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(home.path("").as_path());
    open(home.path("tenure").as_path());
    for what in ALL {
        let mut command = home.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.args(line(what, "m"));
        Speaker::new(&home, what, &mut command).gives_up("write");
    }
    let nowhere = Home::at(format!("sqlite:{}/x.db", home.path("run").display()));
    all_give_up(&nowhere, &ALL, "create its directory");
}

#[test]
fn a_server_that_is_read_only_for_a_while_is_waited_for() {
    let server = Postgres::start().unwrap();
    let home = Home::at(server.url());
    assert_eq!(home.output(["init"]).status.code(), Some(0));
    let read_only = |value: &str| {
        // In two calls: one would be one transaction.
        let set = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
        server.sql(&set).unwrap();
        server.sql("SELECT pg_reload_conf()").unwrap();
    };
    read_only("on");
    let is_read_only = || server.sql("SHOW default_transaction_read_only").unwrap();
    eventually("it is read-only", || is_read_only().trim() == "on");
    let mut speakers: Vec<Speaker<'_>> = WRITERS
        .iter()
        .map(|what| {
            let mutex = format!("{}-{what}", home.mutex());
            Speaker::new(&home, what, &mut command(&home, what, &mutex))
        })
        .collect();
    for speaker in &speakers {
        speaker.says("is read-only");
    }
    // Refused again and again, and nothing more is said of it.
    let refused = || {
        let log = server.log();
        log.matches("read-only transaction").count()
    };
    let before = refused();
    eventually("they try again", || refused() >= before + 12);
    for speaker in &speakers {
        assert_eq!(speaker.said().lines().count(), 1, "{}", speaker.said());
    }
    // Another trouble is another word.
    server.kill().unwrap();
    for speaker in &speakers {
        eventually("it tells of the other trouble", || {
            speaker.count(TROUBLE) >= 2
        });
    }
    server.start().unwrap();
    let before = refused();
    eventually("they are refused again", || refused() >= before + 12);
    read_only("off");
    for speaker in &mut speakers {
        speaker.says(WELL);
        assert!(speaker.count(TROUBLE) <= 6, "{}", speaker.said());
        assert_eq!(speaker.count(WELL), 1, "{}", speaker.said());
    }
    for at in [0, 3] {
        assert_eq!(code(&mut speakers[at].process.0), Some(0));
    }
    speakers[1].says("leading ");
}

on_store!(redis Redis an_outage_is_told_and_its_end);
on_store!(maria MariaDb an_outage_is_told_and_its_end);
on_store!(postgresql Postgres an_outage_is_told_and_its_end);
on_store!(zookeeper ZooKeeper an_outage_is_told_and_its_end);

fn an_outage_is_told_and_its_end(store: Store) {
    let (server, url) = server(store);
    // Short enough to be lost soon, and long enough for a busy machine.
    let home = Home::at(match store {
        Store::ZooKeeper => url + "?session_timeout=8s",
        _ => url + "?ttl=3s&transition=3s",
    });
    let speaker =
        |what: &'static str, words: &[&str]| Speaker::new(&home, what, &mut home.tenure(words));
    let mut leader = speaker("lead", &["lead", "m", "--", "sleep", "600"]);
    leader.says("leading m, token ");
    let waiter = speaker("run", &["-v", "run", "m", "--", "true"]);
    // Until what was said of the waiting has been taken back.
    let script =
        "eval \"$(\"$TENURE\" -v hold m)\"; until grep -q 'well again' hold; do sleep 0.05; done";
    let mut holder = home.command("sh");
    let holder = Speaker::new(&home, "hold", holder.args(["-c", script]));
    let quiet = speaker("quiet", &["-q", "watch", "m"]);
    let watcher = speaker("watch", &["watch", "m"]);
    let words = ["schedule", "s", "--every", "200ms", "--", "touch", "ran"];
    let scheduler = speaker("schedule", &words);
    eventually("the schedule runs", || home.path("ran").exists());
    // These two give up when the store is not there at their beginning.
    waiter.says("waiting for m ");
    holder.says("waiting for m ");
    server.kill().unwrap();
    leader.says("leads m no more: ");
    for speaker in [&leader, &waiter, &holder, &watcher, &scheduler] {
        speaker.says(TROUBLE);
    }
    // It took a lease, and many tries, to come to this.
    server.start().unwrap();
    for speaker in [&leader, &waiter, &holder, &watcher, &scheduler] {
        speaker.says(WELL);
    }
    // Whichever of the two was first, it is the leader that stays.
    leader.says("leading m again, token ");
    for speaker in [&leader, &waiter, &holder, &watcher, &scheduler] {
        let said = speaker.said();
        // The connection goes, is refused, times out, and is made too early. A
        // busy machine may add a trouble or two; tries there were by the dozen.
        assert!(speaker.count(TROUBLE) <= 12, "{said}");
        assert!(speaker.count(WELL) <= speaker.count(TROUBLE), "{said}");
    }
    assert_eq!(quiet.said(), "", "only errors");
    leader.process.0.kill().unwrap();
}
