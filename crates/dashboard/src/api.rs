//! `/api/v1/…`, for the page and for programs. `openapi.json` describes it.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::answer::Answer;
use crate::board::Ask;
use crate::named::Named;
use crate::query::{Query, decoded};
use crate::site::Site;

const OPENAPI: &str = include_str!("openapi.json");
/// How many histories are told at once.
const MOST_NAMES: usize = 200;

pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

pub(crate) async fn mutexes(State(site): State<Arc<Site>>, RawQuery(query): RawQuery) -> Answer {
    let ask = match Ask::read(Query(query.as_deref().unwrap_or_default())) {
        Ok(ask) => ask,
        Err(why) => return Answer::refusal(400, &why),
    };
    if let Some(refusal) = nothing_told(&site).await {
        return refusal;
    }
    let told = site.looker.board().mutexes(&ask);
    Answer::json(200, &told)
}

pub(crate) async fn mutex(State(site): State<Arc<Site>>, name: Named) -> Answer {
    if let Some(refusal) = nothing_told(&site).await {
        return refusal;
    }
    let detail = site.looker.board().detail(&name.0);
    match detail {
        Some(detail) => Answer::json(200, &detail),
        None => Answer::refusal(404, "the store has no mutex of this name"),
    }
}

/// The refusal while the store has told nothing at all.
async fn nothing_told(site: &Site) -> Option<Answer> {
    site.looker.attend().await;
    if site.looker.board().has_told() {
        return None;
    }
    let error = site.looker.error();
    let why = error.unwrap_or_else(|| "the store has told nothing yet".to_owned());
    Some(Answer::refusal(503, &why))
}

pub(crate) async fn history(State(site): State<Arc<Site>>, RawQuery(query): RawQuery) -> Answer {
    let names = Query(query.as_deref().unwrap_or_default()).raw("names");
    // A comma within a name is encoded.
    let names: Vec<String> = names.unwrap_or_default().split(',').map(decoded).collect();
    if names.len() > MOST_NAMES || names.iter().all(String::is_empty) {
        return Answer::refusal(400, "names are 1 to 200, with commas between them");
    }
    site.looker.attend().await;
    let told = site.looker.board().histories(&names);
    Answer::json(200, &told)
}

pub(crate) async fn store(State(site): State<Arc<Site>>) -> Answer {
    site.looker.attend().await;
    Answer::json(200, &site.looker.store(site.allow_revoke))
}
