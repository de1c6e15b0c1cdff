//! [`Token`]: the fencing token of a request.

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use tenure::model::FencingToken;

use crate::refusal::Refusal;

/// The header that carries a token, as decimal digits.
pub const FENCING_TOKEN: HeaderName = HeaderName::from_static("fencing-token");

/// The fencing token of a request, read and not compared with any other.
///
/// ```
/// use tenure_axum::Token;
///
/// async fn write(Token(token): Token, body: String) -> String {
///     format!("{body}, by the owner with {token}")
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::put(write));
/// ```
///
/// Without the header the answer is 428, with a bad one 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub FencingToken);

impl Token {
    /// The token of these headers.
    pub(crate) fn of(parts: &Parts) -> Result<Self, Refusal> {
        let mut values = parts.headers.get_all(FENCING_TOKEN).iter();
        let value = values.next().ok_or(Refusal::Missing)?;
        if values.next().is_some() {
            return Err(Refusal::Malformed("there is more than one".into()));
        }
        let text = value.to_str().map_err(|_| {
            Refusal::Malformed("a fencing token is a whole number below 2^63".into())
        })?;
        let token = text.parse();
        token
            .map(Self)
            .map_err(|error: tenure::Error| Refusal::Malformed(error.to_string()))
    }
}

impl<S: Sync> FromRequestParts<S> for Token {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Self::of(parts)
    }
}
