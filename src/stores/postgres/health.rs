//! What a person should know about the server and the table.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::client::Postgres;
use super::schema::{self, Inspect};
use super::wire::Wire;
use crate::backend::Finding;
use crate::stores::sql::{Ask, Effect};

struct Survey(Wire);

struct Surveyed {
    version: String,
    encoding: String,
    is_replica: bool,
    commit: String,
}

impl Ask<PgConnection> for Survey {
    type Reply = Surveyed;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Surveyed> {
        let sql: Arc<str> = "SELECT current_setting('server_version') AS version, \
             current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica, \
             current_setting('synchronous_commit') AS commit"
            .into();
        let rows = self.0.rows(connection, &sql, Vec::new()).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(Surveyed {
            version: row.try_get("version")?,
            encoding: row.try_get("encoding")?,
            is_replica: row.try_get("is_replica")?,
            commit: row.try_get("commit")?,
        })
    }
}

impl Postgres {
    pub(super) async fn survey(&self) -> Vec<Finding> {
        let surveyed = match self.pool().ask(Survey(self.wire()), Effect::Reads).await {
            Ok(surveyed) => surveyed,
            Err(error) => {
                let remedy = "see whether the server is up, and what the user may do";
                return vec![Finding::bad("server", error.to_string(), remedy)];
            }
        };
        let mut findings = vec![Finding::good("server", surveyed.version)];
        let to = self.statements();
        let inspect = Inspect(Arc::clone(to), self.wire());
        let found = self.pool().ask(inspect, Effect::Reads).await;
        findings.push(
            match found.and_then(|found| schema::check(to, &found.columns)) {
                Ok(()) => Finding::good("table", to.table.clone()),
                Err(error) => Finding::bad("table", error.to_string(), ""),
            },
        );
        if surveyed.encoding != "UTF8" {
            findings.push(Finding::warning(
                "encoding",
                format!("the database is encoded in {}", surveyed.encoding),
                "use a database with the encoding UTF8, or plain names only",
            ));
        }
        if surveyed.is_replica {
            findings.push(Finding::bad(
                "read-only",
                "the server is a replica: nobody can own anything",
                "connect to the primary",
            ));
        }
        if surveyed.commit == "off" {
            findings.push(Finding::warning(
                "synchronous_commit",
                "a crash of the server may forget the last grants",
                "SET synchronous_commit = on for the user of the store",
            ));
        }
        findings
    }
}
