use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_testkit::servers::find::Server;
use tenure_testkit::servers::{Postgres, wait};

use crate::{SILENCE, drop_removes, kill_refuses, pause_silences};

#[test]
fn postgres_lives_through_all_that_can_happen_to_it() {
    let postgres = Postgres::start().unwrap();
    postgres
        .sql("create table a (n int); insert into a values (7)")
        .unwrap();
    pause_silences(&postgres, |limit| postgres.admits_within(limit));
    kill_refuses(&postgres, postgres.address());
    postgres.start().unwrap();
    assert_eq!(postgres.sql("select n from a").unwrap(), "7");
    postgres.stop().unwrap();
    postgres.start().unwrap();
    assert_eq!(postgres.sql("select n from a").unwrap(), "7");
    postgres.restart_empty().unwrap();
    assert_eq!(
        postgres.sql("select to_regclass('a') is null").unwrap(),
        "t"
    );
    drop_removes(postgres);
}

#[test]
fn a_pause_reaches_connections_that_are_open() {
    let postgres = Postgres::start().unwrap();
    let mut client = Command::new(Server::Postgres.find("psql").unwrap())
        .args([
            "--no-psqlrc",
            "--tuples-only",
            "--no-align",
            &postgres.url(),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(client.stdout.take().unwrap());
    let (sender, answers) = channel();
    thread::spawn(move || {
        output
            .lines()
            .try_for_each(|line| sender.send(line.unwrap()))
    });
    let mut input = client.stdin.take().unwrap();
    input.write_all(b"select 'first';\n").unwrap();
    assert_eq!(answers.recv().unwrap(), "first");
    postgres.pause().unwrap();
    input.write_all(b"select 'second';\n").unwrap();
    answers.recv_timeout(SILENCE).unwrap_err();
    postgres.resume().unwrap();
    assert_eq!(answers.recv().unwrap(), "second");
    drop(input);
    client.wait().unwrap();
}

#[test]
fn postgres_takes_settings() {
    let postgres = Postgres::builder()
        .set("max_connections", "7")
        .start()
        .unwrap();
    assert_eq!(postgres.sql("show max_connections").unwrap(), "7");
}

#[test]
fn the_clock_of_postgres_can_be_shifted() {
    let library = Server::Faketime.find_all().unwrap().remove(0);
    let postgres = Postgres::builder()
        .env("LD_PRELOAD", library.to_str().unwrap())
        .env("FAKETIME", "+3h")
        .env("DONT_FAKE_MONOTONIC", "1")
        .start()
        .unwrap();
    let there = postgres
        .sql("select extract(epoch from clock_timestamp())::bigint")
        .unwrap();
    let here = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    assert!(
        there.parse::<u64>().unwrap() > here + 2 * 3600,
        "{there} {here}"
    );
}

#[test]
fn the_clock_of_postgres_can_be_set_while_it_runs() {
    let postgres = Postgres::builder().own_clock().unwrap().start().unwrap();
    // In seconds, of its clock and the machine's.
    let times = || {
        let there = postgres.sql("select extract(epoch from clock_timestamp())::bigint");
        let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        (there.unwrap().parse::<u64>().unwrap(), here.as_secs())
    };
    let hour = Duration::from_secs(3600);
    postgres.set_clock(2 * hour).unwrap();
    let (there, here) = times();
    assert!(there > here + 3600, "{there} {here}");
    postgres.set_clock_back(2 * hour).unwrap();
    let (there, here) = times();
    assert!(there + 3600 < here, "{there} {here}");
}

#[test]
fn a_standby_follows_until_it_is_promoted() {
    let primary = Postgres::start().unwrap();
    primary.sql("create table a (n int)").unwrap();
    let standby = Postgres::builder().standby_of(&primary).start().unwrap();
    primary.sql("insert into a values (7)").unwrap();
    wait::until_true("the row at the standby", || {
        standby.sql("select n from a").unwrap() == "7"
    })
    .unwrap();
    standby.sql("insert into a values (8)").unwrap_err();
    standby.sql("select pg_promote()").unwrap();
    standby.sql("insert into a values (8)").unwrap();
}
