//! MariaDB, and with it MySQL.

use tenure_testkit::servers::MariaDb;

use super::snippets::{raw, snippet};
use super::{NEW, OLD};

const SLEEPERS: &str =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";

/// How many rows the statement changes.
fn write(server: &MariaDb, balance: &str, token: &str) -> String {
    let parameters = [(":balance", balance), (":token", token), (":id", "1")];
    let counted = format!("{}; SELECT ROW_COUNT()", snippet("row", &parameters));
    server.sql(&counted).unwrap()
}

fn fence(token: &str) -> String {
    let parameters = [(":resource", "'accounts'"), (":token", token)];
    snippet("fence-mysql", &parameters)
}

#[test]
fn an_old_owner_is_refused() {
    let server = MariaDb::start().unwrap();
    let sql = |text: &str| server.sql(text).unwrap();
    sql(raw("row-table"));
    sql("INSERT INTO account (id, balance) VALUES (1, 100)");
    assert_eq!(write(&server, "80", OLD), "1");
    assert_eq!(write(&server, "60", NEW), "1");
    assert_eq!(write(&server, "0", OLD), "0", "the old owner woke up");
    assert_eq!(write(&server, "50", NEW), "1", "the same owner again");
    assert_eq!(write(&server, "50", NEW), "0", "found, but not changed");
    assert_eq!(sql("SELECT balance FROM account"), "50");

    sql(raw("fence-table"));
    let admitted = |token| sql(&format!("BEGIN; {}; COMMIT", fence(token)));
    assert_eq!(admitted(OLD), "1");
    assert_eq!(admitted(OLD), "1");
    // The new owner is in the middle of its writes when the old one comes.
    std::thread::scope(|scope| {
        let newer = scope.spawn(|| sql(&format!("BEGIN; {}; SELECT SLEEP(1); COMMIT", fence(NEW))));
        while sql(SLEEPERS) == "0" {}
        assert_eq!(admitted(OLD), "0", "it waited, and was refused");
        assert!(newer.join().unwrap().starts_with('1'));
    });
    assert_eq!(admitted(NEW), "1");
    assert_eq!(sql("SELECT token FROM fence"), NEW);
}

/// Why the page says `FOR UPDATE`: the transaction has read before, and would
/// be shown its own old token for ever.
#[test]
fn an_old_snapshot_does_not_admit_an_old_owner() {
    let server = MariaDb::start().unwrap();
    let sql = |text: &str| server.sql(text).unwrap();
    sql(raw("fence-table"));
    sql(&fence(OLD));
    let reads_first = "BEGIN; SELECT COUNT(*) FROM fence; SELECT SLEEP(1)";
    std::thread::scope(|scope| {
        let older = scope.spawn(|| sql(&format!("{reads_first}; {}; ROLLBACK", fence(OLD))));
        while sql(SLEEPERS) == "0" {}
        sql(&fence(NEW));
        assert_eq!(older.join().unwrap().lines().last(), Some("0"));
    });
}
