//! What a person should know about the server and the table.

use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::number;
use super::dialect::{Connection, MySql};
use super::schema::{INT_LIMIT, INT_WARNING};
use super::{purpose, skew};
use crate::backend::Finding;
use crate::stores::kit::Tested;
use crate::stores::sql::{Answers, Survey, Surveyed};

impl Answers<Survey> for MySql {
    async fn answer(&self, on: &mut Connection, _: &Survey) -> sqlx::Result<Surveyed> {
        let sql = format!(
            "SELECT CAST(VERSION() AS CHAR) AS version, \
             CAST(IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone) AS CHAR) \
             AS zone, CAST(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW()) AS SIGNED) AS offset_s, \
             CAST(IF(@@log_bin, @@binlog_format, '') AS CHAR) AS binlog, \
             CAST(@@read_only AS CHAR) AS read_only, \
             CAST(COALESCE((SELECT MAX(version) FROM {}), 0) AS UNSIGNED) AS largest",
            self.statements.table
        );
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut *on).await?;
        let mut findings = vec![
            self.version(number(&row, "largest")?),
            Some(zone(&row)?),
            binary_log(&row)?,
            read_only(&row)?,
            self.purpose(),
        ];
        findings.extend(skew::compare(self, on).await?.into_iter().map(Some));
        Ok(Surveyed {
            version: told(&row.try_get::<String, _>("version")?),
            findings: findings.into_iter().flatten().collect(),
        })
    }
}

const MARIADB: Tested = Tested {
    server: "MariaDB",
    versions: &["10.11", "11.8"],
};

const MYSQL: Tested = Tested {
    server: "MySQL",
    versions: &["9.7"],
};

/// MariaDB says its name behind its version; MySQL may say anything there.
fn told(version: &str) -> String {
    match version.contains("MariaDB") {
        true => MARIADB.told(version),
        false => MYSQL.told(version),
    }
}

impl MySql {
    /// How to see what mutexes are wanted for, where the table does not say it.
    fn purpose(&self) -> Option<Finding> {
        (!self.layout().says_purpose).then(|| {
            let extension = purpose::extension(&self.statements);
            let detail =
                format!("not told in listings; told by processes that start after: {extension};");
            Finding::good("purpose", detail)
        })
    }

    /// What is left of the versions, when it is little.
    fn version(&self, largest: u64) -> Option<Finding> {
        if !self.layout().has_int_version() || largest < INT_WARNING {
            return None;
        }
        let table = &self.statements.table;
        let detail = format!("a mutex has version {largest}; it ends at {INT_LIMIT}");
        let remedy = format!("ALTER TABLE {table} MODIFY version BIGINT UNSIGNED NOT NULL;");
        Some(if largest >= INT_LIMIT {
            Finding::bad("version", detail, remedy)
        } else {
            Finding::warning("version", detail, remedy)
        })
    }
}

fn zone(row: &MySqlRow) -> sqlx::Result<Finding> {
    let (zone, offset): (String, i64) = (row.try_get("zone")?, row.try_get("offset_s")?);
    let shown = format!("{zone} ({offset:+} s)");
    Ok(if matches!(&*zone, "UTC" | "+00:00" | "GMT" | "Etc/UTC") {
        Finding::good("time zone", shown)
    } else {
        Finding::warning(
            "time zone",
            format!("{shown}; nothing here depends on it, but JVM contenders reckon in it"),
            "let JVM contenders connect in UTC, or twice a year their leases are an hour off",
        )
    })
}

fn binary_log(row: &MySqlRow) -> sqlx::Result<Option<Finding>> {
    let format: String = row.try_get("binlog")?;
    Ok(format.eq_ignore_ascii_case("STATEMENT").then(|| {
        Finding::bad(
            "binary log",
            "binlog_format is STATEMENT, which refuses READ COMMITTED",
            "SET GLOBAL binlog_format = 'ROW' (or MIXED)",
        )
    }))
}

fn read_only(row: &MySqlRow) -> sqlx::Result<Option<Finding>> {
    // A number, or a word in newer servers.
    let read_only: String = row.try_get("read_only")?;
    Ok((!matches!(&*read_only, "0" | "OFF")).then(|| {
        Finding::bad(
            "read-only",
            "the server is read-only: nobody can own anything",
            "connect to the primary",
        )
    }))
}
