//! Removing rows that no process has used for long.
//!
//! A version is the microsecond of its grant or later, and that of a new row is
//! the clock's: so tokens rise over a removal, if no take that has read the
//! clock before it comes after it. Takes hold the table's ROW EXCLUSIVE lock
//! from before they read the clock; a removal takes the lock that waits for all
//! of them, reads the clock, removes, and is over, in one message: nothing is
//! held across a round trip. Who comes meanwhile waits for milliseconds.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor as _};

use super::calls::number;
use super::dialect::{Connection, Postgres};
use super::statements::{CLOCK, Statements};
use crate::error::{ErrorKind, Result};
use crate::model::FencingToken;
use crate::stores::sql::{Answers, Client, Removed, questions};

/// How many rows one message removes.
const TOGETHER: u64 = 500;

/// How long others may have to queue behind a removal that cannot begin.
const PATIENCE: &str = "200ms";

/// How often it is tried, and the pause between.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn remove(
    client: &Client<Postgres>,
    unused_for: Duration,
    ledgers: bool,
) -> Result<Removed> {
    let micros = i64::try_from(unused_for.as_micros()).unwrap_or(i64::MAX / 2);
    let mut tries = 0;
    loop {
        let removed = client.ask(Remove { micros, ledgers }).await;
        tries += 1;
        match removed {
            // Another transaction has the table's lock, as a vacuum's or a
            // backup's may.
            Err(error) if error.kind() == ErrorKind::Timeout && tries < TRIES => {
                client.pool().clock().sleep(PAUSE).await;
            }
            removed => return removed,
        }
    }
}

questions! {
    Remove => Removed, Writes;
}

struct Remove {
    micros: i64,
    ledgers: bool,
}

impl Answers<Remove> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        Remove { micros, ledgers }: &Remove,
    ) -> sqlx::Result<Removed> {
        let Statements {
            table, schedule, ..
        } = &self.statements;
        let per_grant = FencingToken::PER_GRANT;
        // A ledger that is locked is being claimed: a removal that waited for
        // it would go by what it was before.
        let ledgers = if *ledgers {
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
        let found = on
            .connection
            .fetch_all(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await?;
        let (mut rows, mut ledgers) = (0, 0);
        for row in &found {
            rows += number(row, "rows")?;
            ledgers += number(row, "ledgers")?;
        }
        Ok(Removed {
            rows,
            ledgers,
            more: rows == TOGETHER || ledgers == TOGETHER,
        })
    }
}
