//! PostgreSQL.

use tenure_testkit::servers::Postgres;

use super::snippets::{raw, snippet};
use super::{NEW, OLD};

/// How many rows the statement affects.
fn write(server: &Postgres, balance: &str, token: &str) -> String {
    let parameters = [(":balance", balance), (":token", token), (":id", "1")];
    let update = snippet("row", &parameters);
    let counted = format!("WITH done AS ({update} RETURNING 1) SELECT count(*) FROM done");
    server.sql(&counted).unwrap()
}

fn fence(token: &str) -> String {
    let parameters = [(":resource", "'accounts'"), (":token", token)];
    snippet("fence-returning", &parameters)
}

#[test]
fn an_old_owner_is_refused() {
    let server = Postgres::start().unwrap();
    let sql = |text: &str| server.sql(text).unwrap();
    sql(raw("row-table"));
    sql("INSERT INTO account (id, balance) VALUES (1, 100)");
    assert_eq!(write(&server, "80", OLD), "1");
    assert_eq!(write(&server, "60", NEW), "1");
    assert_eq!(write(&server, "0", OLD), "0", "the old owner woke up");
    assert_eq!(write(&server, "60", NEW), "1", "the same owner again");
    assert_eq!(sql("SELECT balance FROM account"), "60");

    sql(raw("fence-table"));
    assert_eq!(sql(&fence(OLD)), OLD);
    assert_eq!(sql(&fence(OLD)), OLD);
    // The new owner is in the middle of its writes when the old one comes.
    std::thread::scope(|scope| {
        let newer = scope.spawn(|| {
            let text = format!("BEGIN; {}; SELECT pg_sleep(1); COMMIT", fence(NEW));
            sql(&text)
        });
        while sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0" {}
        assert_eq!(sql(&fence(OLD)), "", "it waited, and was refused");
        assert!(newer.join().unwrap().starts_with(NEW));
    });
    assert_eq!(sql(&fence(NEW)), NEW);
}
