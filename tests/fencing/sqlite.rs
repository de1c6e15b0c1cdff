//! SQLite, with the parameters as they are written on the page.

use rusqlite::{Connection, named_params};

use super::snippets::raw;
use super::{NEW, OLD};

fn number(token: &str) -> i64 {
    token.parse().unwrap()
}

#[test]
fn a_row_refuses_the_old_owner() {
    let db = Connection::open_in_memory().unwrap();
    db.execute(raw("row-table"), ()).unwrap();
    db.execute("INSERT INTO account (id, balance) VALUES (1, 100)", ())
        .unwrap();
    let write = |balance: i64, token| {
        let parameters = named_params! { ":id": 1, ":balance": balance, ":token": number(token) };
        db.execute(raw("row"), parameters).unwrap()
    };
    assert_eq!(write(80, OLD), 1);
    assert_eq!(write(60, NEW), 1);
    assert_eq!(write(0, OLD), 0, "the old owner woke up");
    assert_eq!(write(60, NEW), 1, "the same owner may write again");
    let balance: i64 = db
        .query_row("SELECT balance FROM account", (), |row| row.get(0))
        .unwrap();
    assert_eq!(balance, 60);
}

#[test]
fn a_table_of_fences_refuses_the_old_owner() {
    let db = Connection::open_in_memory().unwrap();
    db.execute(raw("fence-table"), ()).unwrap();
    let admits = |token| {
        let mut fence = db.prepare(raw("fence-returning")).unwrap();
        let parameters = named_params! { ":resource": "accounts", ":token": number(token) };
        let mut rows = fence.query(parameters).unwrap();
        rows.next().unwrap().is_some()
    };
    assert!(admits(OLD) && admits(OLD) && admits(NEW));
    assert!(!admits(OLD));
    assert!(admits(NEW));
}
