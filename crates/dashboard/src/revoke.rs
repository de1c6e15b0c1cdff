//! `/api/v1/mutexes/{name}/revoke`: freeing a mutex by force, behind many doors.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use tenure::model::FencingToken;
use tenure::{Error, Revocation};

use crate::answer::Answer;
use crate::named::Named;
use crate::serve::Peer;
use crate::site::Site;
use crate::status::found;

const LONGEST: usize = 8 * 1024;
/// How long the body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// No form of another site can send it, and no script of one without asking first.
const MARK: &str = "x-tenure-request";
const MAY_HAVE: &str = "it may have been revoked";

/// What was asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    confirm: String,
    token: Option<FencingToken>,
    owner: Option<String>,
}

/// What was done, as `tenure revoke --output json` writes it.
#[derive(Debug, Serialize)]
struct Done {
    name: String,
    revoked: bool,
    owner: Option<String>,
    token: Option<FencingToken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

pub(crate) async fn revoke(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    Named(name): Named,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let wish = match wish(&site, &name, &headers, body).await {
        Ok(wish) => wish,
        Err(refusal) => return refusal,
    };
    // A task of its own: what is done is also said when the one who asked has gone.
    let doing = tokio::spawn(async move { carry_out(&site, peer, &name, &wish).await });
    doing
        .await
        .unwrap_or_else(|_| Answer::refusal(504, MAY_HAVE))
}

/// Frees it, and tells a person what came of it.
async fn carry_out(site: &Site, peer: SocketAddr, name: &str, wish: &Wish) -> Answer {
    let token = wish.token.map(|token| format!(" with token {token}"));
    let token = token.unwrap_or_default();
    let begin = || site.log(&format!("{peer} is freeing {name:?} by force{token}"));
    let answer = free(site, name, wish, begin).await;
    site.log(&match &answer {
        Ok(done) if done.revoked => {
            let owner = done.owner.as_deref().unwrap_or("an unknown owner");
            format!("{peer} has freed {name:?} by force from {owner:?}{token}")
        }
        Ok(_) => format!("{peer} would have freed {name:?} by force, which is free"),
        Err((504, why)) => format!("{peer} may have freed {name:?} by force{token}: {why}"),
        Err((_, why)) => format!("{peer} has not freed {name:?} by force{token}: {why}"),
    });
    match answer {
        Ok(done) => Answer::json(200, &done),
        Err((status, why)) => Answer::refusal(status, &why),
    }
}

/// What is wished for, if that is allowed, and really meant.
async fn wish(site: &Site, name: &str, headers: &HeaderMap, body: Body) -> Result<Wish, Answer> {
    if !site.allow_revoke {
        let why = "this dashboard is read-only: start it with --allow-revoke";
        return Err(Answer::refusal(403, why));
    }
    // Where the request comes from has been looked at before.
    if headers.get(MARK).is_none_or(|mark| mark != "1") {
        let why = format!("the header {MARK}: 1 is missing");
        return Err(Answer::refusal(403, &why));
    }
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let why = "the body must be application/json";
        return Err(Answer::refusal(415, why));
    }
    let read = axum::body::to_bytes(body, LONGEST);
    let Ok(Ok(body)) = tokio::time::timeout(PATIENCE, read).await else {
        let why = "the body is too long, or too slow";
        return Err(Answer::refusal(413, why));
    };
    // The error of the parser would show what was sent.
    let wish: Wish = serde_json::from_slice(&body)
        .map_err(|_| Answer::refusal(400, "the body must have confirm and token"))?;
    if wish.confirm != name {
        let why = "confirm is not the name of the mutex: nothing was done";
        return Err(Answer::refusal(400, why));
    }
    Ok(wish)
}

/// Frees it, if it is as the one who asks has seen it; says so before it does.
async fn free(
    site: &Site,
    name: &str,
    wish: &Wish,
    begin: impl Fn(),
) -> Result<Done, (u16, String)> {
    let unavailable = |error: Error| (503, error.to_string());
    let coordinator = site.looker.coordinator();
    let found = found(coordinator, name).await.map_err(unavailable)?;
    let mut done = Done {
        name: name.to_owned(),
        revoked: false,
        owner: None,
        token: wish.token,
        fault: None,
    };
    let Some((entry, now)) = found else {
        if site.looker.board().is_reentrant(name) {
            let why = "a reentrant lock is freed by its holder, or at the end of its lease";
            return Err((409, why.to_owned()));
        }
        return Ok(done);
    };
    let owner = entry.owner.at(now);
    done.owner = owner.as_ref().map(|owner| owner.id().to_string());
    done.fault = entry.fault.as_deref().map(str::to_owned);
    if done.owner.is_none() && done.fault.is_none() {
        return Ok(done);
    }
    if entry.owner_goes_on {
        let why = "its owner is a program of another kind that does not learn of it, and would \
                   go on beside the next one: end that program instead";
        return Err((409, why.to_owned()));
    }
    // As the rows tell it.
    let token = owner.and_then(|owner| owner.token()).or(entry.token);
    let is_meant = match (wish.token, &done.fault) {
        (Some(meant), None) => token == Some(meant),
        (None, None) => token.is_none() && done.owner == wish.owner,
        // What is damaged is mended by force, whatever its token: that may be what is wrong.
        (None, Some(_)) => wish.owner.is_none() || done.owner == wish.owner,
        (Some(_), Some(_)) => {
            let why = "it is damaged, and its token with it: ask without one";
            return Err((409, why.to_owned()));
        }
    };
    if !is_meant {
        let why = "another owns it by now, or with another token: nothing was done";
        return Err((409, why.to_owned()));
    }
    begin();
    // With a token only that grant, whatever has happened since. Without one there is
    // nothing to name a grant by: one that came since the look above is freed as well.
    let revocation = coordinator.revoke_found(&entry.name, wish.token).await;
    let revocation = revocation.map_err(|error| match error.may_have_happened() {
        true => (504, format!("{MAY_HAVE}: {error}")),
        false => unavailable(error),
    });
    match revocation? {
        Revocation::Freed(_) => {
            done.revoked = true;
            site.looker.revoked(name, wish.token);
            Ok(done)
        }
        Revocation::OwnedByAnother(_) => {
            Err((409, "another owns it by now: nothing was done".to_owned()))
        }
        _ => Ok(done),
    }
}
