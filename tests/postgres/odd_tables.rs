//! Tables of other shapes, and how this server writes what an odd row holds.

use tenure::backend::Backend;

use crate::SERVER;
use crate::odd::works_or_is_refused;
use crate::support::{bid, client, renew, win};

/// The version that the usual row has.
pub(crate) const VERSION: u64 = 5;

/// The columns, each with what stands in it when a mutex is owned.
pub(crate) const COLUMNS: &[(&str, &str)] = &[
    ("mutex", ""),
    ("acquired_at", "1"),
    ("ttl_at", IN_AN_HOUR),
    ("transition_at", IN_AN_HOUR),
    ("owner_id", "'a'"),
    ("version", "5"),
    ("nonce", "'00000000000000000000000000000007'"),
];

pub(crate) const IN_AN_HOUR: &str = "((extract(epoch FROM now()) + 3600) * 1000)::bigint";

pub(crate) const LOOSE: &str = "CREATE TABLE odd (mutex VARCHAR(66) COLLATE \"C\" PRIMARY KEY, \
     acquired_at BIGINT, ttl_at BIGINT, transition_at BIGINT, owner_id TEXT COLLATE \"C\", \
     version BIGINT, nonce TEXT COLLATE \"C\")";

pub(crate) const INTO: &str = "INSERT INTO odd";

pub(crate) const DUMP: &str = "SELECT mutex || '|' || coalesce(acquired_at::text, 'NULL') || '/' \
     || coalesce(version::text, 'NULL') || '/' || coalesce(quote_literal(owner_id), 'NULL') || '/' \
     || coalesce(nonce, 'NULL') FROM odd ORDER BY mutex";

/// What may stand in a column of text.
pub(crate) const TEXTS: &[&str] = &[
    "NULL",
    "''",
    "' '",
    "'a '",
    "' a'",
    "'A'",
    "'á'",
    "'a@@b'",
    "E'a\\n'",
    "E'\\x1b'",
    "repeat('x', 129)",
    "'🔒'",
    "'00000000000000000000000000000008'",
];

const USUAL: [(&str, &str); 7] = [
    ("mutex", "VARCHAR(66) COLLATE \"C\" NOT NULL"),
    ("acquired_at", "BIGINT NOT NULL"),
    ("ttl_at", "BIGINT NOT NULL"),
    ("transition_at", "BIGINT NOT NULL"),
    ("owner_id", "VARCHAR(128) COLLATE \"C\" NOT NULL"),
    ("version", "BIGINT NOT NULL"),
    ("nonce", "VARCHAR(32) COLLATE \"C\" NOT NULL DEFAULT ''"),
];

/// Each column missing, and of each of these types.
fn shapes() -> Vec<(String, String)> {
    let types = [
        "",
        "TEXT",
        "BYTEA",
        "CHAR(4)",
        "CHAR(200)",
        "INTEGER",
        "SMALLINT",
        "NUMERIC",
        "DOUBLE PRECISION",
        "TIMESTAMPTZ",
        "JSONB",
        "UUID",
        "BOOLEAN",
        "TEXT[]",
    ];
    let mut shapes = Vec::new();
    for (changed, _) in USUAL {
        for kind in types {
            let columns = USUAL
                .iter()
                .filter_map(|(column, usual)| match *column == changed {
                    true if kind.is_empty() => None,
                    true => Some(format!("{column} {kind} NOT NULL")),
                    false => Some(format!("{column} {usual}")),
                });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let key = match (changed, kind) {
                ("mutex", "") => "",
                _ => ", PRIMARY KEY (mutex)",
            };
            shapes.push((
                format!("{changed} is {kind:?}"),
                format!("({columns}{key})"),
            ));
        }
    }
    shapes
}

#[tokio::test]
async fn a_table_of_another_shape_works_or_is_refused() {
    let mut sql = String::new();
    let mut tables = Vec::new();
    for (number, (what, shape)) in shapes().into_iter().enumerate() {
        let table = format!("shape_{number}");
        sql.push_str(&format!("CREATE TABLE {table} {shape};\n"));
        tables.push((what, table));
    }
    let all = USUAL
        .map(|(column, kind)| format!("{column} {kind}"))
        .join(", ");
    sql.push_str(&format!(
        "CREATE TABLE shape_keyless ({all});\n\
         CREATE TABLE shape_behind ({all}, PRIMARY KEY (mutex));\n\
         CREATE VIEW shape_view AS SELECT * FROM shape_behind;\n\
         CREATE VIEW shape_fixed AS SELECT 'shape'::text AS mutex, 0::bigint AS acquired_at, \
         0::bigint AS ttl_at, 0::bigint AS transition_at, ''::text AS owner_id, \
         1::bigint AS version, ''::text AS nonce;\n\
         CREATE MATERIALIZED VIEW shape_stored AS SELECT * FROM shape_fixed;\n\
         CREATE TABLE shape_more ({all}, more INT NOT NULL, PRIMARY KEY (mutex));\n\
         CREATE TABLE shape_parts ({all}, PRIMARY KEY (mutex)) PARTITION BY LIST (mutex);\n\
         CREATE SEQUENCE shape_sequence;\n"
    ));
    for what in [
        "keyless", "view", "fixed", "stored", "more", "parts", "sequence",
    ] {
        tables.push((what.to_owned(), format!("shape_{what}")));
    }
    SERVER.sql(&sql).unwrap();
    let mut faults = Vec::new();
    for (what, table) in &tables {
        faults.extend(works_or_is_refused(what, table).await.err());
    }
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        tables.len(),
        faults.join("\n")
    );
}

/// One row is owned, and another of the same name is free.
#[tokio::test]
async fn where_names_are_not_unique_none_is_granted() {
    let all = USUAL
        .map(|(column, kind)| format!("{column} {kind}"))
        .join(", ");
    let later = "(extract(epoch FROM now()) * 1000)::bigint + 3600000";
    SERVER
        .sql(&format!(
            "CREATE TABLE shape_twice ({all}); \
             INSERT INTO shape_twice (mutex, acquired_at, ttl_at, transition_at, owner_id, version, nonce) \
             VALUES ('m', 1, {later}, {later}, 'other', 5, ''), ('m', 0, 0, 0, '', 4, '')"
        ))
        .unwrap();
    let url = format!("{}?table=shape_twice&connections=1", SERVER.url());
    let store = client(&url).await.unwrap();
    for _ in 0..3 {
        for name in ["m", "n"] {
            let answer = store.acquire(&bid(name, "a")).await;
            assert!(
                !answer.as_ref().is_ok_and(tenure::backend::Answer::is_won),
                "{answer:?}"
            );
        }
    }
}

/// A table of the same name in a schema that comes first later on.
#[tokio::test]
async fn another_schema_in_the_way_is_another_store_and_no_shared_one() {
    let url = SERVER.url();
    let table = "way";
    let first = client(&format!("{url}?table={table}&schedule_table=way_s"))
        .await
        .unwrap();
    let held = win(&first, &bid("m", "a")).await;
    SERVER
        .sql(&format!(
            "CREATE SCHEMA before_all; CREATE TABLE before_all.{table} (id INT)"
        ))
        .unwrap();
    let user =
        "CREATE ROLE way LOGIN SUPERUSER; ALTER ROLE way SET search_path = before_all, public";
    SERVER.sql(user).unwrap();
    let other = other_user(&url);
    let error = client(&format!("{other}?table={table}&schedule_table=way_s"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("table"), "{error}");
    let named = format!("{other}?table=public.{table}&schedule_table=public.way_s");
    let named = client(&named).await.unwrap();
    assert!(!named.acquire(&bid("m", "b")).await.unwrap().is_won());
    assert!(renew(&first, &held).await.unwrap().is_won());
}

/// The URL with the user "way".
fn other_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (_, place) = rest.rsplit_once('@').unwrap();
    format!("{scheme}://way@{place}")
}
