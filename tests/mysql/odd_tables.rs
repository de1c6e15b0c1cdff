//! Tables of other shapes, and how this server writes what an odd row holds.

use crate::SERVER;
use crate::odd::works_or_is_refused;

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
];

pub(crate) const IN_AN_HOUR: &str = "(UNIX_TIMESTAMP() + 3600) * 1000";

pub(crate) const LOOSE: &str = "CREATE TABLE odd (mutex VARCHAR(66) COLLATE utf8mb4_bin PRIMARY \
     KEY, acquired_at BIGINT, ttl_at BIGINT, transition_at BIGINT, \
     owner_id VARCHAR(300) COLLATE utf8mb4_bin, version BIGINT) DEFAULT CHARSET = utf8mb4";

pub(crate) const INTO: &str = "INSERT INTO odd";

pub(crate) const DUMP: &str = "SELECT mutex, CONCAT_WS('/', IFNULL(acquired_at, 'NULL'), \
     IFNULL(version, 'NULL'), IFNULL(HEX(owner_id), 'NULL')) FROM odd ORDER BY mutex";

/// What may stand in a column of text.
pub(crate) const TEXTS: &[&str] = &[
    "NULL",
    "''",
    "' '",
    "'a '",
    "' a'",
    "'A'",
    "CONVERT(0xC3A1 USING utf8mb4)",
    "'a@@b'",
    "CONCAT('a', CHAR(10))",
    "CONCAT('a', CHAR(0))",
    "REPEAT('x', 129)",
    "CONVERT(0xF09F9492 USING utf8mb4)",
    "CHAR(27)",
];

const USUAL: [(&str, &str); 6] = [
    ("mutex", "VARCHAR(66) NOT NULL"),
    ("acquired_at", "BIGINT UNSIGNED NOT NULL"),
    ("ttl_at", "BIGINT UNSIGNED NOT NULL"),
    ("transition_at", "BIGINT UNSIGNED NOT NULL"),
    ("owner_id", "VARCHAR(128) NOT NULL"),
    ("version", "INT UNSIGNED NOT NULL"),
];

/// Each column missing, and of each of these types.
fn shapes() -> Vec<(String, String)> {
    let types = [
        "",
        "TEXT",
        "BLOB",
        "VARBINARY(128)",
        "CHAR(4)",
        "VARCHAR(66) COLLATE utf8mb4_general_ci",
        "INT",
        "TINYINT",
        "BIGINT",
        "DOUBLE",
        "DECIMAL(20, 0)",
        "DATETIME",
        "JSON",
        "BIT(8)",
        "ENUM('a', 'b')",
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
            // A text has no key without a length.
            let key = match (changed, kind) {
                ("mutex", "" | "JSON") => "",
                ("mutex", "TEXT" | "BLOB") => ", PRIMARY KEY (mutex(66))",
                _ => ", PRIMARY KEY (mutex)",
            };
            let shape = format!("({columns}{key}) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin");
            shapes.push((format!("{changed} is {kind:?}"), shape));
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
        "CREATE TABLE shape_keyless ({all}) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;\n\
         CREATE TABLE shape_behind ({all}, PRIMARY KEY (mutex)) COLLATE = utf8mb4_bin;\n\
         CREATE VIEW shape_view AS SELECT * FROM shape_behind;\n\
         CREATE VIEW shape_fixed AS SELECT 'shape' AS mutex, 0 AS acquired_at, 0 AS ttl_at, \
         0 AS transition_at, '' AS owner_id, 1 AS version;\n\
         CREATE TABLE shape_more ({all}, more INT NOT NULL, PRIMARY KEY (mutex));\n\
         CREATE TABLE shape_myisam ({all}, PRIMARY KEY (mutex)) ENGINE = MyISAM \
         COLLATE = utf8mb4_bin;\n"
    ));
    for what in ["keyless", "view", "fixed", "more", "myisam"] {
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
