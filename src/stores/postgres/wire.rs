//! [`Wire`]: how a statement travels.
//!
//! As text, in one message. The server begins when it has the whole message and
//! commits before it waits for another, so no client that falls silent holds a row:
//! with the protocol's own way a prepared statement is executed by one message
//! and committed by the next. To plan such a statement costs the server several
//! times what it costs to do it. So those that are used all the time are
//! prepared, and called, by text too (`PREPARE`, `EXECUTE`), once in a session.
//!
//! A transaction pooler changes the session under us: with `notify=off` nothing
//! is left in it. Where a pooler is noticed otherwise, it is the same.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

/// How long a statement waits in the server for a row that another transaction
/// holds, in milliseconds. Longer than any of ours holds one; short, since a statement that
/// waits keeps a connection busy, and goes on waiting when its client is gone.
const LOCK_WAIT: &str = "250";

/// What holds for a quick statement in a plain session. Each further setting
/// would cost the server a tenth of the statement.
const QUICK_TERMS: &str = "SET LOCAL lock_timeout = 250; ";

/// What stands in front of a statement that a server may forget when it crashes:
/// its commit is answered before it is on a disk, or on a standby.
const FORGETTABLE: &str = "SET LOCAL synchronous_commit = off; ";

/// How a statement travels.
#[derive(Debug)]
pub(super) struct Wire {
    /// The longest that a statement may take in the server.
    limit: Duration,
    /// Whether a connection is one session of the server's for all its life.
    has_sessions: AtomicBool,
}

/// A connection, and what is prepared in its session.
#[derive(Debug)]
pub(in crate::stores) struct Session {
    pub(super) connection: PgConnection,
    prepared: Vec<Arc<str>>,
    /// Whether a whole take was done, won or refused. To have prepared it proves
    /// nothing: it is planned when it is called.
    pub(super) has_taken: bool,
    /// Whether its transactions are READ COMMITTED and have time enough without
    /// being told.
    is_plain: bool,
    /// Whether its commits wait, for a disk or for a standby.
    waits: bool,
}

impl Session {
    fn new(connection: PgConnection) -> Self {
        Self {
            connection,
            prepared: Vec::new(),
            has_taken: false,
            is_plain: false,
            waits: true,
        }
    }
}

/// A statement that is used all the time.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// Quoted. Another text has another name, also in a session that others
    /// have had.
    name: Arc<str>,
    /// As in `(text, bigint)`.
    types: &'static str,
    text: Arc<str>,
    /// Whether it is about one row, found by its key: all that can keep it is a
    /// lock.
    is_quick: bool,
    /// Whether a server that crashes may forget it.
    is_forgettable: bool,
}

impl Prepared {
    /// `what` it does to `table`, for people who look at the server.
    pub(super) fn new(what: &str, table: &str, types: &'static str, text: String) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let table = table.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut name = format!("{what} {:016x} {table}", hasher.finish());
        name.truncate(LONGEST_NAME);
        Self {
            name: format!("\"{name}\"").into(),
            types,
            text: text.into(),
            is_quick: false,
            is_forgettable: false,
        }
    }

    pub(super) fn quick(self) -> Self {
        Self {
            is_quick: true,
            ..self
        }
    }

    pub(super) fn forgettable(self) -> Self {
        Self {
            is_forgettable: true,
            ..self
        }
    }
}

/// The server cuts what is longer.
const LONGEST_NAME: usize = 63;

/// What the server says when a session does not have what was prepared, has it
/// already, or when the table is another by now.
const UNKNOWN: &str = "26000";
const KNOWN: &str = "42P05";
const OUTDATED: &str = "0A000";

/// Whether transactions are READ COMMITTED, for how many milliseconds a statement
/// may go on, where zero is for ever, and whether commits wait for a disk.
const PLAIN: &str = "SELECT current_setting('default_transaction_isolation') = 'read committed', \
     (extract(epoch FROM current_setting('statement_timeout')::interval) * 1000)::bigint, \
     current_setting('synchronous_commit') <> 'off' AND \
     (current_setting('fsync')::bool OR current_setting('synchronous_standby_names') <> '')";

#[derive(Clone, Debug)]
pub(super) enum Value<'v> {
    Text(Cow<'v, str>),
    Int(i64),
    Flag(bool),
    Texts(Vec<Cow<'v, str>>),
    Ints(Vec<i64>),
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Wire {
    pub(super) fn new(limit: Duration, has_sessions: bool) -> Self {
        Self {
            limit,
            has_sessions: AtomicBool::new(has_sessions),
        }
    }

    /// The rows that `sql` with `values` for `$1`, `$2` and so on answers.
    pub(super) async fn rows(
        &self,
        session: &mut Session,
        sql: &str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<PgRow>> {
        let text = self.terms() + &plain(sql, values);
        session.send(text).await
    }

    /// The same by a statement that is prepared at its first use.
    pub(super) async fn prepared(
        &self,
        session: &mut Session,
        statement: &Prepared,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<PgRow>> {
        if !self.has_sessions.load(Ordering::Relaxed) {
            return self.whole(session, statement, values).await;
        }
        let Prepared {
            name, types, text, ..
        } = statement;
        let is_prepared = session.prepared.contains(name);
        let mut message = match statement.is_quick && session.is_plain {
            true => QUICK_TERMS.to_owned(),
            false => self.terms(),
        };
        if statement.is_forgettable && session.waits {
            message.push_str(FORGETTABLE);
        }
        if !is_prepared {
            let _ = write!(message, "PREPARE {name} {types} AS {text}; ");
        }
        let _ = write!(message, "EXECUTE {name}(");
        for (index, value) in values.iter().enumerate() {
            message.push_str(if index > 0 { "," } else { "" });
            argument(&mut message, value);
        }
        message.push(')');
        let error = match session.send(message).await {
            Ok(rows) => {
                if !is_prepared {
                    session.prepared.push(Arc::clone(name));
                }
                return Ok(rows);
            }
            Err(error) => error,
        };
        // In these cases the message did nothing.
        let answered = error.as_database_error().and_then(DatabaseError::code);
        match answered.as_deref() {
            // The first message that was to use it failed after preparing it.
            Some(KNOWN) => session.prepared.push(Arc::clone(name)),
            // Another session than before.
            Some(UNKNOWN) => self.has_sessions.store(false, Ordering::Relaxed),
            Some(OUTDATED) if is_prepared => {
                session.prepared.retain(|known| known != name);
                session.send(format!("DEALLOCATE {name}")).await?;
            }
            _ => return Err(error),
        }
        self.whole(session, statement, values).await
    }

    /// The same by the statement's whole text, which leaves nothing in the session.
    async fn whole(
        &self,
        session: &mut Session,
        statement: &Prepared,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<PgRow>> {
        let mut text = self.terms();
        if statement.is_forgettable {
            text.push_str(FORGETTABLE);
        }
        session.send(text + &plain(&statement.text, values)).await
    }

    /// Whether the server has done a whole take in this very session.
    pub(super) fn has_taken(&self, session: &Session) -> bool {
        self.has_sessions.load(Ordering::Relaxed) && session.has_taken
    }

    /// A session on a new connection, and what it is like by itself. A server that
    /// is told other defaults while it runs makes a quick statement lose races, or
    /// end early: never wrong.
    pub(super) async fn session(&self, connection: PgConnection) -> sqlx::Result<Session> {
        let mut session = Session::new(connection);
        if self.has_sessions.load(Ordering::Relaxed) {
            let rows = match session.send(PLAIN.to_owned()).await {
                // Its limit is so short that even this is over it, now and then.
                Err(sqlx::Error::Database(_)) => return Ok(session),
                answered => answered?,
            };
            let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            let limit: i64 = row.try_get(1)?;
            let limit = Duration::from_millis(limit.unsigned_abs());
            let is_long = limit.is_zero() || limit >= self.limit;
            session.is_plain = row.try_get(0)? && is_long;
            session.waits = row.try_get(2)?;
        }
        Ok(session)
    }

    /// What holds for one message, whatever the server's or the session's
    /// settings are.
    fn terms(&self) -> String {
        format!(
            "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; \
             SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ",
            LOCK_WAIT,
            self.limit.as_millis()
        )
    }
}

impl Session {
    /// One message.
    async fn send(&mut self, text: String) -> sqlx::Result<Vec<PgRow>> {
        let text = sqlx::raw_sql(AssertSqlSafe(text));
        self.connection.fetch_all(text).await
    }
}

/// `sql` with literals for its parameters.
fn plain(sql: &str, values: &[Value<'_>]) -> String {
    let mut out = String::with_capacity(sql.len() * 2);
    let mut rest = sql;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let digits = rest[at + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = at + 1 + digits;
        let value = rest[at + 1..end]
            .parse::<usize>()
            .ok()
            .and_then(|n| values.get(n - 1));
        literal(&mut out, value.expect("every parameter has a value"));
        rest = &rest[end..];
    }
    out + rest
}

fn literal(out: &mut String, value: &Value<'_>) {
    let list = |out: &mut String, count: usize, each: &dyn Fn(&mut String, usize)| {
        out.push_str("ARRAY[");
        for index in 0..count {
            if index > 0 {
                out.push(',');
            }
            each(out, index);
        }
        out.push(']');
    };
    match value {
        Value::Text(text) => text_literal(out, text),
        Value::Int(number) => out.push_str(&format!("({number})::bigint")),
        Value::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Texts(texts) => list(out, texts.len(), &|out, at| text_literal(out, &texts[at])),
        Value::Ints(numbers) => list(out, numbers.len(), &|out, at| {
            out.push_str(&format!("({})::bigint", numbers[at]));
        }),
    }
}

/// A value of a statement whose types are known: plain text is cheaper to read
/// than an expression, above all that of a list.
fn argument(out: &mut String, value: &Value<'_>) {
    let is_plain = |text: &str| text.bytes().all(is_plain);
    let _ = match value {
        Value::Text(text) if is_plain(text) => write!(out, "'{text}'"),
        Value::Int(number) => write!(out, "'{number}'"),
        Value::Texts(texts) if texts.iter().all(|text| is_plain(text)) => {
            out.reserve(texts.iter().map(|text| text.len() + 3).sum());
            list(out, texts, |out, text| write!(out, "\"{text}\""))
        }
        Value::Ints(numbers) => list(out, numbers, |out, number| write!(out, "{number}")),
        value => {
            literal(out, value);
            Ok(())
        }
    };
}

/// An array as the server writes it.
fn list<T>(
    out: &mut String,
    items: &[T],
    each: impl Fn(&mut String, &T) -> fmt::Result,
) -> fmt::Result {
    out.push_str("'{");
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        each(out, item)?;
    }
    out.write_str("}'")
}

/// What needs no quoting, whatever the server's settings are; most names and ids
/// have nothing else.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" #+,-./:=@_".contains(&byte)
}

/// Hexadecimal digits where there is more in it: the server decodes them, which
/// costs it some microseconds.
fn text_literal(out: &mut String, text: &str) {
    if text.bytes().all(is_plain) {
        let _ = write!(out, "'{text}'::text");
        return;
    }
    out.push_str("convert_from(decode('");
    for byte in text.bytes() {
        let _ = write!(out, "{byte:02x}");
    }
    out.push_str("','hex'),'UTF8')");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_types_of_their_statement() {
        let of = |value| {
            let mut out = String::new();
            argument(&mut out, &value);
            out
        };
        assert_eq!(of("a-1".into()), "'a-1'");
        assert_eq!(of(7_u64.into()), "'7'");
        assert_eq!(of(Value::Flag(true)), "true");
        let quoted = "convert_from(decode('27','hex'),'UTF8')";
        assert_eq!(of("'".into()), quoted);
        let texts = |texts: [&'static str; 2]| of(Value::Texts(texts.map(Into::into).into()));
        assert_eq!(texts(["a, b", ""]), r#"'{"a, b",""}'"#);
        assert_eq!(texts(["a", "'"]), format!("ARRAY['a'::text,{quoted}]"));
        assert_eq!(of(Value::Ints(vec![1, -2])), "'{1,-2}'");
        assert_eq!(of(Value::Texts(Vec::new())), "'{}'");
    }

    #[test]
    fn nothing_of_a_value_reaches_the_statement_but_digits() {
        let sql = plain("a $1 b $2, $1", &["'; --\\ $2".into(), 7_u64.into()]);
        let quoted = "convert_from(decode('273b202d2d5c202432','hex'),'UTF8')";
        assert_eq!(sql, format!("a {quoted} b (7)::bigint, {quoted}"));
    }

    #[test]
    fn lists_are_arrays() {
        let values = [
            Value::Texts(vec!["a".into(), "".into()]),
            Value::Ints(vec![1, -2]),
        ];
        let sql = plain("$1::text[] $2::bigint[]", &values);
        assert_eq!(
            sql,
            "ARRAY['a'::text,''::text]::text[] ARRAY[(1)::bigint,(-2)::bigint]::bigint[]"
        );
    }

    #[test]
    fn a_byte_that_could_end_or_bend_a_literal_is_never_plain() {
        let plain: Vec<u8> = (0..=u8::MAX).filter(|byte| is_plain(*byte)).collect();
        assert_eq!(plain.len(), 62 + 11);
        assert!(
            plain
                .iter()
                .all(|byte| byte.is_ascii() && !b"'\\$\"\0".contains(byte))
        );
    }
}
