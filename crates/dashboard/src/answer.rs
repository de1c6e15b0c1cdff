//! [`Answer`]: what a server answers with, when it is whole.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    /// Text for a person.
    ///
    /// ```
    /// use tenure_dashboard::answer::Answer;
    ///
    /// assert_eq!(Answer::text(503, "not yet\n").status(), 503);
    /// ```
    #[must_use]
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }

    /// JSON in which neither markup nor what cannot be seen hides, whatever is
    /// made of it.
    ///
    /// # Panics
    /// When `value` cannot be JSON.
    #[must_use]
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        Self {
            status,
            kind: "application/json",
            body: json_text(value) + "\n",
        }
    }

    /// A refusal, for a program and the person behind it.
    pub(crate) fn refusal(status: u16, why: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": why }))
    }

    /// Its status, as in 200.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, [(header::CONTENT_TYPE, self.kind)], self.body).into_response()
    }
}

/// JSON on one line, without markup and without what cannot be seen.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    let body = serde_json::to_string(value).expect("our own values are JSON");
    let is_plain = |c: char| !matches!(c, '<' | '>' | '&') && !crate::text::is_hidden(c);
    if body.chars().all(is_plain) {
        return body;
    }
    // Outside of strings JSON has none of these.
    let body = body
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    crate::text::plain_json(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_no_markup() {
        let text = "</script><b a='&'>\u{202e}\n";
        let answer = Answer::json(200, &text);
        let body = answer.body().trim_end();
        assert!(!body.contains(['<', '>', '&', '\u{202e}', '\n']), "{body}");
        assert_eq!(serde_json::from_str::<String>(body).unwrap(), text);
    }
}
