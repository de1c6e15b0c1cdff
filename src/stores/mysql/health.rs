//! What a person should know about the server and the table.

use std::sync::Arc;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::number;
use super::client::MySql;
use super::schema::{INT_LIMIT, INT_WARNING, Inspect, layout};
use super::statements::Statements;
use crate::backend::Finding;
use crate::stores::sql::{Ask, Effect};

struct Survey(Arc<Statements>);

struct Surveyed {
    version: String,
    zone: String,
    offset: i64,
    binlog: String,
    read_only: bool,
    largest: u64,
}

impl Ask<MySqlConnection> for Survey {
    type Reply = Surveyed;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Surveyed> {
        let sql = format!(
            "SELECT CAST(VERSION() AS CHAR) AS version, \
             CAST(IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone) AS CHAR) \
             AS zone, CAST(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW()) AS SIGNED) AS offset_s, \
             CAST(IF(@@log_bin, @@binlog_format, '') AS CHAR) AS binlog, \
             CAST(@@read_only AS CHAR) AS read_only, \
             CAST(COALESCE((SELECT MAX(version) FROM {}), 0) AS UNSIGNED) AS largest",
            self.0.table
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .fetch_one(connection)
            .await?;
        // A number, or a word in newer servers.
        let read_only: String = row.try_get("read_only")?;
        Ok(Surveyed {
            version: row.try_get("version")?,
            zone: row.try_get("zone")?,
            offset: row.try_get("offset_s")?,
            binlog: row.try_get("binlog")?,
            read_only: !matches!(&*read_only, "0" | "OFF"),
            largest: number(&row, "largest")?,
        })
    }
}

impl MySql {
    pub(super) async fn survey(&self) -> Vec<Finding> {
        let to = self.statements();
        let surveyed = match self.pool().ask(Survey(Arc::clone(to)), Effect::Reads).await {
            Ok(surveyed) => surveyed,
            Err(error) => {
                let remedy = "see whether the server is up, and what the user may do";
                return vec![Finding::bad("server", error.to_string(), remedy)];
            }
        };
        let mut findings = vec![Finding::good("server", surveyed.version.clone())];
        findings.extend(self.survey_table().await);
        let table = &to.table;
        if self.layout().has_int_version() && surveyed.largest >= INT_WARNING {
            let detail = format!(
                "a mutex has version {}; it ends at {INT_LIMIT}",
                surveyed.largest
            );
            let remedy = format!("ALTER TABLE {table} MODIFY version BIGINT UNSIGNED NOT NULL;");
            findings.push(if surveyed.largest >= INT_LIMIT {
                Finding::bad("version", detail, remedy)
            } else {
                Finding::warning("version", detail, remedy)
            });
        }
        let zone = format!("{} ({:+} s)", surveyed.zone, surveyed.offset);
        findings.push(if matches!(&*surveyed.zone, "UTC" | "+00:00" | "GMT" | "Etc/UTC") {
            Finding::good("time zone", zone)
        } else {
            Finding::warning(
                "time zone",
                format!("{zone}; nothing here depends on it, but JVM contenders reckon in it"),
                "let JVM contenders connect in UTC, or twice a year their leases are an hour off",
            )
        });
        if surveyed.binlog.eq_ignore_ascii_case("STATEMENT") {
            findings.push(Finding::bad(
                "binary log",
                "binlog_format is STATEMENT, which refuses READ COMMITTED",
                "SET GLOBAL binlog_format = 'ROW' (or MIXED)",
            ));
        }
        if surveyed.read_only {
            findings.push(Finding::bad(
                "read-only",
                "the server is read-only: nobody can own anything",
                "connect to the primary",
            ));
        }
        findings
    }

    async fn survey_table(&self) -> Option<Finding> {
        let to = self.statements();
        let found = self
            .pool()
            .ask(Inspect(Arc::clone(to)), Effect::Reads)
            .await;
        match found.and_then(|found| layout(to, &found.columns)) {
            Ok(_) => Some(Finding::good("table", to.table.clone())),
            Err(error) => Some(Finding::bad("table", error.to_string(), "")),
        }
    }
}
