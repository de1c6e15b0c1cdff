//! [`Refusal`]: why a request is not admitted.

use std::fmt;

use axum::BoxError;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tenure::model::FencingToken;

use crate::token::FENCING_TOKEN;

/// Why a request is not admitted, and its answer: JSON with `error`, and for a stale token also
/// `token` and `newest`, as strings.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It has no token: 428.
    Missing,
    /// What it has is no token: 400.
    Malformed(String),
    /// Its resource has a name that cannot be kept: 400.
    BadResource(String),
    /// A newer owner has been seen: 409. Trying again does not help.
    Stale {
        /// The token of the request.
        token: FencingToken,
        /// The highest seen.
        newest: FencingToken,
    },
    /// Its resource has a parameter that the route has not, a mistake in the program: 500.
    NoParameter(String),
    /// There is no room to remember one more resource: 503.
    NoRoom,
    /// The highest seen could not be asked in time: 503.
    Late,
    /// What keeps the highest seen has failed: 503. The client is not told why, the log is.
    Failed(BoxError),
}

impl Refusal {
    /// The answer's status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Missing => StatusCode::PRECONDITION_REQUIRED,
            Self::Malformed(_) | Self::BadResource(_) => StatusCode::BAD_REQUEST,
            Self::Stale { .. } => StatusCode::CONFLICT,
            Self::NoParameter(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NoRoom | Self::Late | Self::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

#[cfg(any(feature = "mysql", feature = "postgres"))]
impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(feature = "redis")]
impl From<redis::RedisError> for Refusal {
    fn from(error: redis::RedisError) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "the request has no {FENCING_TOKEN} header"),
            Self::Malformed(why) => write!(f, "the {FENCING_TOKEN} header: {why}"),
            Self::BadResource(why) => write!(f, "the resource: {why}"),
            Self::Stale { token, newest } => {
                write!(f, "the token {token} is stale: {newest} has been seen")
            }
            Self::NoParameter(name) => write!(f, "the route has no parameter {name:?}"),
            Self::NoRoom => f.write_str("there is no room to remember one more resource"),
            Self::Late => f.write_str("the highest token seen was not known in time"),
            Self::Failed(_) => f.write_str("what keeps the tokens has failed"),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(&**error),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Body {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<String>,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Self::Failed(error) = &self {
            tracing::warn!(target: "tenure::axum", "not admitted: {error}");
        }
        let (token, newest) = match &self {
            Self::Stale { token, newest } => (Some(token.to_string()), Some(newest.to_string())),
            _ => (None, None),
        };
        let error = self.to_string();
        let body = Body {
            error,
            token,
            newest,
        };
        json(self.status(), &body)
    }
}

/// An answer that holds at this moment only.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let text = serde_json::to_string(body).expect("strings and flags have a JSON form");
    let head = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, head, text).into_response()
}
