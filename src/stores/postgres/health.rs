//! What a person should know about the server and the table.

use std::time::Duration;

use sqlx::Row as _;

use super::dialect::{Connection, Postgres};
use crate::backend::Finding;
use crate::stores::kit::{Tested, skew};
use crate::stores::sql::{Answers, Survey, Surveyed};

const POSTGRES: Tested = Tested {
    server: "PostgreSQL",
    versions: &["15", "17", "18"],
};

impl Answers<Survey> for Postgres {
    async fn answer(&self, on: &mut Connection, _: &Survey) -> sqlx::Result<Surveyed> {
        let sql = "SELECT current_setting('server_version') AS version, \
             current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica, \
             current_setting('synchronous_commit') AS commit";
        let rows = self.wire.rows(on, sql, &[]).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        let encoding: String = row.try_get("encoding")?;
        let commit: String = row.try_get("commit")?;
        let mut findings = Vec::new();
        if encoding != "UTF8" {
            findings.push(Finding::warning(
                "encoding",
                format!("the database is encoded in {encoding}"),
                "use a database with the encoding UTF8, or plain names only",
            ));
        }
        if row.try_get("is_replica")? {
            findings.push(Finding::bad(
                "read-only",
                "the server is a replica: nobody can own anything",
                "connect to the primary",
            ));
        }
        if commit == "off" {
            findings.push(Finding::warning(
                "synchronous_commit",
                "a crash of the server may forget the last grants",
                "SET synchronous_commit = on for the user of the store",
            ));
        }
        findings.extend(self.standbys(on).await?);
        Ok(Surveyed {
            version: POSTGRES.told(&row.try_get::<String, _>("version")?),
            findings,
        })
    }
}

impl Postgres {
    /// The standbys whose clocks are ahead. Each says when it sent its last
    /// word, by its own clock; who may not see that, sees nothing.
    async fn standbys(&self, on: &mut Connection) -> sqlx::Result<Vec<Finding>> {
        let sql = "SELECT coalesce(nullif(application_name, ''), 'a standby') \
             || coalesce(' at ' || host(client_addr), '') AS who, \
             floor(extract(epoch FROM reply_time - clock_timestamp()) * 1000000)::bigint AS ahead \
             FROM pg_stat_replication WHERE reply_time > clock_timestamp()";
        let rows = self.wire.rows(on, sql, &[]).await?;
        let mut findings = Vec::new();
        for row in rows {
            let by = u64::try_from(row.try_get::<i64, _>("ahead")?).unwrap_or(0);
            let by = Duration::from_micros(by);
            if by > self.margin {
                let (who, than) = (row.try_get::<String, _>("who")?, "at least");
                let then = "when it is promoted,";
                findings.push(skew::ahead(&who, by, than, self.margin, then));
            }
        }
        Ok(findings)
    }
}
