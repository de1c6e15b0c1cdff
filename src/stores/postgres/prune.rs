//! Removing rows that nobody has used for long, and mending those that cannot
//! be made out.
//!
//! A version is the microsecond of its grant or later, and that of a new row is
//! the clock's: so tokens rise over a removal, if no take that has read the
//! clock before it comes after it. Takes hold the table's ROW EXCLUSIVE lock
//! from before they read the clock; a removal takes the lock that waits for all
//! of them, reads the clock, removes, and is over, in one message: nothing is
//! held across a round trip. Who comes meanwhile waits for milliseconds.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::client::Postgres;
use super::schema::Schedules;
use super::statements::{CLOCK, Statements};
use super::wire::Wire;
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::{ErrorKind, Result};
use crate::model::{FencingToken, MutexName};
use crate::stores::sql::Ask;

/// How many rows one message removes.
const TOGETHER: u64 = 500;

/// How long others may have to queue behind a removal that cannot begin.
const PATIENCE: &str = "200ms";

/// How often it is tried, and the pause between.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// There was more to remove.
struct More;

impl Postgres {
    pub(super) async fn prune_step(&self, prune: &Prune) -> Result<Pruned> {
        let (to, wire) = (Arc::clone(self.statements()), self.wire());
        let micros = i64::try_from(prune.unused_for.as_micros()).unwrap_or(i64::MAX / 2);
        let inspect = super::schema::Inspect(Arc::clone(&to), wire);
        let schedules = prune.schedules && self.read(inspect).await?.schedule != Schedules::Missing;
        let mut tries = 0;
        let (rows, ledgers) = loop {
            let to = Arc::clone(&to);
            let removed = self.write(Remove {
                to,
                micros,
                schedules,
            });
            tries += 1;
            match removed.await {
                // Somebody has the table's lock, as a vacuum or a backup may.
                Err(error) if error.kind() == ErrorKind::Timeout && tries < TRIES => {
                    self.pool().clock().sleep(PAUSE).await;
                }
                removed => break removed?,
            }
        };
        let pruned = Pruned::of(rows, ledgers);
        if rows == TOGETHER || ledgers == TOGETHER {
            return Ok(pruned.to_be_continued(Bookmark::new(More)));
        }
        Ok(pruned)
    }

    /// Begins the row of `name` again if its version can be no token's.
    pub(super) async fn mend(&self, name: &MutexName) -> Result<bool> {
        let (to, wire) = (Arc::clone(self.statements()), self.wire());
        let name = name.clone();
        self.write(Mend { to, wire, name }).await
    }
}

struct Remove {
    to: Arc<Statements>,
    micros: i64,
    schedules: bool,
}

impl Ask<PgConnection> for Remove {
    type Reply = (u64, u64);

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<(u64, u64)> {
        let Self { micros, .. } = self;
        let Statements {
            table, schedule, ..
        } = &*self.to;
        let per_grant = FencingToken::PER_GRANT;
        // Ledgers first: a row that is gone could not say that it is owned. One
        // that is locked is being claimed: a removal that waited for it would
        // go by what it was before.
        let ledgers = if self.schedules {
            format!(
                "WITH {CLOCK}, gone AS (DELETE FROM {schedule} AS s WHERE s.name = ANY(ARRAY( \
                 SELECT l.name FROM {schedule} AS l, clock \
                 WHERE greatest(l.origin, l.due_at, l.finished_at) * 1000 < clock.micros - {micros} \
                 AND l.token / {per_grant} < clock.micros - {micros} \
                 AND NOT EXISTS (SELECT 1 FROM {table} AS m \
                 WHERE m.mutex = l.name AND m.transition_at >= clock.now) LIMIT {TOGETHER} \
                 FOR UPDATE OF l SKIP LOCKED)) \
                 RETURNING 1) SELECT count(*) AS ledgers, 0::bigint AS rows FROM gone;"
            )
        } else {
            String::new()
        };
        let sql = format!(
            "SET LOCAL lock_timeout = '{PATIENCE}'; \
             LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE; {ledgers} \
             WITH {CLOCK}, gone AS (DELETE FROM {table} AS d WHERE d.mutex = ANY(ARRAY( \
             SELECT m.mutex FROM {table} AS m, clock WHERE m.transition_at < clock.now \
             AND m.version < clock.micros - {micros} LIMIT {TOGETHER})) \
             RETURNING 1) SELECT 0::bigint AS ledgers, count(*) AS rows FROM gone"
        );
        let found = connection
            .fetch_all(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await?;
        let mut sum = (0, 0);
        for row in &found {
            let count = |column: &str| -> sqlx::Result<u64> {
                let number: i64 = row.try_get(column)?;
                Ok(u64::try_from(number).unwrap_or(0))
            };
            sum = (sum.0 + count("rows")?, sum.1 + count("ledgers")?);
        }
        Ok(sum)
    }
}

struct Mend {
    to: Arc<Statements>,
    wire: Wire,
    name: MutexName,
}

impl Ask<PgConnection> for Mend {
    type Reply = bool;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        let (table, limit) = (&self.to.table, FencingToken::STORE_LIMIT);
        // No token can have been made of such a version.
        let sql: Arc<str> = format!(
            "UPDATE {table} SET owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, \
             nonce = '', version = 0 WHERE mutex = $1 AND (version < 0 OR version >= {limit}) \
             RETURNING 1"
        )
        .into();
        let name = vec![self.name.as_str().into()];
        let rows = self.wire.rows(connection, &sql, name).await?;
        Ok(!rows.is_empty())
    }
}
