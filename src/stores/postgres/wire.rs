//! [`Wire`]: how a statement travels.

use std::fmt::Write as _;
use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _};

/// How a statement travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Prepared once per connection: the quickest.
    Prepared,
    /// As text in one message, with nothing left in the session: what a
    /// transaction pooler, which changes the session under us, can carry.
    Plain,
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
    /// The rows that `sql` with `values` for `$1`, `$2` and so on answers.
    pub(super) async fn rows(
        self,
        connection: &mut PgConnection,
        sql: &Arc<str>,
        values: Vec<Value>,
    ) -> sqlx::Result<Vec<PgRow>> {
        if self == Self::Plain {
            let text = AssertSqlSafe(plain(sql, &values));
            return connection.fetch_all(sqlx::raw_sql(text)).await;
        }
        let mut query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
        for value in values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Int(number) => query.bind(number),
                Value::Flag(flag) => query.bind(flag),
                Value::Texts(texts) => query.bind(texts),
                Value::Ints(numbers) => query.bind(numbers),
            };
        }
        query.fetch_all(connection).await
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
