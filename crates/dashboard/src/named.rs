//! [`Named`]: which mutex a request is about.

use std::collections::HashMap;

use axum::RequestPartsExt as _;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::answer::Answer;
use crate::query::Query;

/// The name in the path, or that of the query: no path can carry `.` and `..`,
/// which every browser takes for a way through it, however they are written.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for Named {
    type Rejection = Answer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Answer> {
        let no_text = || Answer::refusal(400, "the name is no text");
        let path = parts.extract::<Path<HashMap<String, String>>>().await;
        let Path(mut path) = path.map_err(|_| no_text())?;
        if let Some(name) = path.remove("name") {
            return Ok(Self(name));
        }
        let query = Query(parts.uri.query().unwrap_or_default());
        let Some(name) = query.raw("name").filter(|name| !name.is_empty()) else {
            return Err(Answer::refusal(400, "the query must have a name"));
        };
        let name = name.replace('+', " ");
        let name = percent_decode_str(&name).decode_utf8();
        name.map(|name| Self(name.into_owned()))
            .map_err(|_| no_text())
    }
}
