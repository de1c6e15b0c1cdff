//! `tenure doctor`: what it finds, what it says to do, how it ends.

use std::net::TcpListener;
use std::process::Output;

use serde_json::Value;
use tenure_testkit::servers::{MariaDb, Redis};

use super::stores::{Lease, Store, on_every_store};
use super::support::{Home, text};

on_every_store!(a_store_that_is_well_is_found_so);

/// The findings, after a look at their shape.
fn findings(output: &Output) -> Vec<Value> {
    let out = text(&output.stdout);
    for line in out.lines() {
        let keys: Vec<&str> = line.split('"').filter(|word| KEYS.contains(word)).collect();
        assert_eq!(keys, KEYS, "{line}");
    }
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const KEYS: [&str; 4] = ["severity", "subject", "detail", "remedy"];

/// The only finding about `subject`: how bad, what it is, what to do.
fn about<'a>(findings: &'a [Value], subject: &str) -> (&'a str, &'a str, &'a str) {
    let found: Vec<_> = findings
        .iter()
        .filter(|row| row["subject"] == subject)
        .collect();
    assert_eq!(found.len(), 1, "{subject} in {findings:?}");
    let field = |name: &str| found[0][name].as_str().unwrap();
    (field("severity"), field("detail"), field("remedy"))
}

fn doctor(url: &str) -> (Option<i32>, Vec<Value>) {
    let output = Home::at(url).output(["doctor", "--output", "json"]);
    assert_eq!(text(&output.stderr), "", "all is said on stdout");
    (output.status.code(), findings(&output))
}

fn a_store_that_is_well_is_found_so(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let output = home.output(["doctor", "--output", "json"]);
    let findings = findings(&output);
    assert_eq!(about(&findings, "reachable").0, "good");
    assert_eq!(about(&findings, "store").0, "good");
    for subject in ["taking", "waiting"] {
        let (severity, detail, _) = about(&findings, subject);
        assert_eq!(severity, "good", "{detail}");
    }
    if store != Store::ZooKeeper {
        assert_eq!(about(&findings, "clock").0, "good");
    }
    let unwell: Vec<_> = findings
        .iter()
        .filter(|row| row["severity"] != "good")
        .collect();
    // The shared server keeps nothing on disk, and the doctor knows.
    let expected = if store == Store::Redis { 1 } else { 0 };
    assert_eq!(unwell.len(), expected, "{unwell:?}");
    assert_eq!(output.status.code(), Some(expected as i32));
}

#[test]
fn a_redis_that_throws_locks_away_is_a_warning() {
    let redis = Redis::builder()
        .durable()
        .set("maxmemory", "100mb")
        .set("maxmemory-policy", "allkeys-lru")
        .start()
        .unwrap();
    let url = format!("redis://{}", redis.address());
    let (code, findings) = doctor(&url);
    assert_eq!(code, Some(1));
    let (severity, detail, remedy) = about(&findings, "eviction");
    assert_eq!(severity, "warning");
    assert!(detail.contains("allkeys-lru"), "{detail}");
    assert_eq!(remedy, "CONFIG SET maxmemory-policy noeviction");
    // Done as it says, all is well.
    redis
        .command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        .unwrap();
    assert_eq!(doctor(&url).0, Some(0));
    let told = Home::at(&url).output(["doctor"]);
    assert!(
        text(&told.stdout).contains("good     eviction: "),
        "{told:?}"
    );
}

#[test]
fn a_wrong_password_is_told_from_a_server_that_is_not_there() {
    let redis = Redis::builder().password("right").start().unwrap();
    let (code, findings) = doctor(&format!("redis://:wr0ng@{}", redis.address()));
    assert_eq!(code, Some(69));
    let (severity, detail, remedy) = about(&findings, "reachable");
    assert_eq!(severity, "bad");
    assert!(remedy.contains("password"), "{remedy}");
    assert!(!detail.contains("wr0ng"), "{detail}");

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = nobody.local_addr().unwrap();
    drop(nobody);
    for url in [format!("redis://{at}"), format!("postgres://u@{at}/db")] {
        let (code, findings) = doctor(&url);
        assert_eq!(code, Some(69), "{url}");
        let (severity, detail, remedy) = about(&findings, "reachable");
        assert_eq!(severity, "bad");
        assert!(detail.contains(&at.port().to_string()), "{detail}");
        assert!(remedy.contains("see whether it is up"), "{remedy}");
    }
}

#[test]
fn a_missing_table_and_a_zone_with_summer_time_are_found_in_mariadb() {
    let server = MariaDb::builder()
        .env("TZ", "Europe/Zurich")
        .start()
        .unwrap();
    let without = format!("{}?create=false", server.url());
    let (code, findings) = doctor(&without);
    assert_eq!(code, Some(69));
    let (severity, detail, remedy) = about(&findings, "reachable");
    assert_eq!(severity, "bad");
    assert!(detail.contains("CREATE TABLE"), "{detail}");
    assert!(remedy.contains("tenure init"), "{remedy}");

    let done = Home::at(server.url()).output(["init"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let (code, findings) = doctor(&without);
    assert_eq!(code, Some(1));
    assert_eq!(about(&findings, "table").0, "good");
    let (severity, detail, remedy) = about(&findings, "time zone");
    assert_eq!(severity, "warning");
    assert!(detail.contains("CE"), "CET or CEST: {detail}");
    assert!(remedy.contains("UTC"), "{remedy}");
}

#[test]
fn a_user_who_may_not_write_or_listen_is_found() {
    let server = MariaDb::start().unwrap();
    assert_eq!(
        Home::at(server.url()).output(["init"]).status.code(),
        Some(0)
    );
    let sql = "CREATE USER reader IDENTIFIED BY ''; GRANT SELECT ON tenure.* TO reader";
    server.sql(sql).unwrap();
    let (code, findings) = doctor(&server.url().replace("root", "reader"));
    assert_eq!(code, Some(1));
    let (severity, detail, remedy) = about(&findings, "taking");
    assert_eq!(severity, "bad");
    assert!(detail.contains("denied"), "{detail}");
    assert!(remedy.contains("what this user may do"), "{remedy}");

    let redis = Redis::builder().durable().start().unwrap();
    let deaf = "ACL SETUSER deaf on >x ~* &* +@all -subscribe -psubscribe -ssubscribe";
    let words: Vec<&str> = deaf.split(' ').collect();
    redis.command(&words).unwrap();
    let (code, findings) = doctor(&format!("redis://deaf:x@{}", redis.address()));
    assert_eq!(code, Some(1), "{findings:?}");
    let (severity, detail, remedy) = about(&findings, "waiting");
    assert_eq!(severity, "warning");
    assert!(detail.contains("not woken"), "{detail}");
    assert!(remedy.contains("may subscribe"), "{remedy}");
}

#[test]
fn a_person_reads_what_to_do_below_what_is_wrong() {
    let output = Home::new().output(["doctor", "--url", "sqlite:/no/such/place/x"]);
    assert_eq!(output.status.code(), Some(69));
    let said = text(&output.stdout);
    let mut lines = said.lines().skip_while(|line| !line.starts_with("bad "));
    let wrong = lines.next().unwrap();
    assert!(wrong.starts_with("bad      reachable: "), "{said}");
    assert!(wrong.contains("/no/such/place"), "{said}");
    assert!(lines.next().unwrap().starts_with("         see "), "{said}");
}
