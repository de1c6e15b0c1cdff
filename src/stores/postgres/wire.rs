//! [`Wire`]: how a statement travels.
//!
//! As text, in one message. The server begins when it has the whole message and
//! commits before it waits for another, so nobody who falls silent holds a row:
//! a prepared statement is executed by one message and committed by the next.
//! And nothing is left in the session, which is what a transaction pooler needs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _};

/// How long a statement waits in the server for a row that another transaction
/// holds. Longer than any of ours holds one; short, since whoever waits keeps a
/// connection busy, and goes on waiting when its client is gone.
const LOCK_WAIT: Duration = Duration::from_millis(250);

/// How a statement travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    /// The longest that a statement may take in the server.
    limit: Duration,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Int(i64),
    Flag(bool),
    Texts(Vec<String>),
    Ints(Vec<i64>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Wire {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit }
    }

    /// The rows that `sql` with `values` for `$1`, `$2` and so on answers.
    pub(super) async fn rows(
        self,
        connection: &mut PgConnection,
        sql: &Arc<str>,
        values: Vec<Value>,
    ) -> sqlx::Result<Vec<PgRow>> {
        let text = AssertSqlSafe(self.terms() + &plain(sql, &values));
        connection.fetch_all(sqlx::raw_sql(text)).await
    }

    /// What holds for one message, whatever the server's or the session's
    /// settings are.
    fn terms(self) -> String {
        format!(
            "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; \
             SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ",
            LOCK_WAIT.as_millis(),
            self.limit.as_millis()
        )
    }
}

/// `sql` with literals for its parameters.
fn plain(sql: &str, values: &[Value]) -> String {
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

fn literal(out: &mut String, value: &Value) {
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

/// Hexadecimal digits need no quoting, whatever the server's settings are.
fn text_literal(out: &mut String, text: &str) {
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
    fn nothing_of_a_value_reaches_the_statement_but_digits() {
        let sql = plain("a $1 b $2, $1", &["'; --\\ $2".into(), 7_u64.into()]);
        let quoted = "convert_from(decode('273b202d2d5c202432','hex'),'UTF8')";
        assert_eq!(sql, format!("a {quoted} b (7)::bigint, {quoted}"));
    }

    #[test]
    fn lists_are_arrays() {
        let values = [
            Value::Texts(vec!["a".into(), String::new()]),
            Value::Ints(vec![1, -2]),
        ];
        let sql = plain("$1::text[] $2::bigint[]", &values);
        let (a, none) = (
            "convert_from(decode('61','hex'),'UTF8')",
            "convert_from(decode('','hex'),'UTF8')",
        );
        assert_eq!(
            sql,
            format!("ARRAY[{a},{none}]::text[] ARRAY[(1)::bigint,(-2)::bigint]::bigint[]")
        );
    }
}
