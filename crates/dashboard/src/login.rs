//! [`Access`]: the token that everybody must know, and the cookie that stands
//! for it in a browser.

mod attempts;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hmac_sha256::HMAC;

use self::attempts::Attempts;
use crate::answer::Answer;
use crate::guard::is_from_elsewhere;
use crate::query::Query;
use crate::serve::Peer;
use crate::site::{Site, page};

const FORM: &str = include_str!("login.html");
const LONGEST_FORM: usize = 8 * 1024;
/// How long a browser stays logged in.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// How long a form may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who may ask.
#[derive(Debug)]
pub(crate) struct Access {
    /// Known to this process alone.
    secret: [u8; 32],
    /// The token's, under the secret.
    expected: [u8; 32],
    attempts: Attempts,
    start: Instant,
    cookie: String,
    is_secure: bool,
}

/// What came of an attempt.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Right,
    Wrong,
    /// There were too many wrong ones: come again after this.
    TooMany(Duration),
}

impl Access {
    pub(crate) fn new(token: &str, port: u16, is_secure: bool) -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        // Browsers know hosts, not ports: each server of a host has its own.
        let prefix = if is_secure { "__Host-" } else { "" };
        Ok(Self {
            secret,
            expected: HMAC::mac(token, secret),
            attempts: Attempts::default(),
            start: Instant::now(),
            cookie: format!("{prefix}tenure-{port}"),
            is_secure,
        })
    }

    fn judge(&self, token: &str, peer: SocketAddr) -> Judged {
        // First: behind a proxy all have one address, and the wrong tokens of one must
        // not keep the right one of another away. A long token cannot be guessed anyway.
        if HMAC::verify(token, self.secret, &self.expected) {
            return Judged::Right;
        }
        match self.attempts.must_wait(peer.ip()) {
            Some(wait) => Judged::TooMany(wait),
            None => {
                self.attempts.note_wrong(peer.ip());
                Judged::Wrong
            }
        }
    }

    /// A cookie's value: until when it is good, in seconds of this process, and
    /// the proof that this process has made it.
    fn session(&self) -> String {
        let until = (self.start.elapsed() + SESSION).as_secs();
        let proof = HMAC::mac(format!("session until {until}"), self.secret);
        let proof: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{until}.{proof}")
    }

    fn is_session(&self, value: &str) -> bool {
        let Some((until, proof)) = value.split_once('.') else {
            return false;
        };
        let mut bytes = [0; 32];
        let is_hex = proof.len() == 64 && proof.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return false;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&proof[2 * at..2 * at + 2], 16).unwrap_or_default();
        }
        let Ok(seconds) = until.parse::<u64>() else {
            return false;
        };
        HMAC::verify(format!("session until {until}"), self.secret, &bytes)
            && self.start.elapsed().as_secs() < seconds
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        pairs.any(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            name.trim() == self.cookie && self.is_session(value.trim())
        })
    }

    /// Also behind a proxy with TLS the cookie goes no other way.
    fn set_cookie(&self, value: &str, lasts: Duration, headers: &HeaderMap) -> String {
        let origin = headers
            .get(header::ORIGIN)
            .map(axum::http::HeaderValue::as_bytes);
        let is_secure = self.is_secure || origin.is_some_and(|at| at.starts_with(b"https://"));
        let secure = if is_secure { "; Secure" } else { "" };
        let (name, lasts) = (&self.cookie, lasts.as_secs());
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts}{secure}")
    }
}

/// Lets through who knows the token, and sends a browser to the form.
pub(crate) async fn known(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let Some(access) = &site.access else {
        return next.run(request).await;
    };
    let headers = request.headers();
    if access.has_cookie(headers) {
        return next.run(request).await;
    }
    let given = headers.get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.to_str().ok());
    let bearer = given.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match bearer.map(|token| access.judge(token, peer)) {
        Some(Judged::Right) => next.run(request).await,
        Some(Judged::TooMany(wait)) => too_many(wait),
        Some(Judged::Wrong) => {
            site.log(&format!("{peer} has asked with a wrong token"));
            unknown("the token is wrong")
        }
        None if request.uri().path() == "/" && request.method() == Method::GET => see("/login"),
        None => unknown("a token is needed: Authorization: Bearer …, or the cookie of /login"),
    }
}

fn unknown(why: &str) -> Response {
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"tenure\"")];
    (challenge, Answer::refusal(401, why)).into_response()
}

fn too_many(wait: Duration) -> Response {
    let seconds = (wait.as_secs() + 1).to_string();
    let text = "too many wrong tokens came from this address\n";
    ([(header::RETRY_AFTER, seconds)], Answer::text(429, text)).into_response()
}

fn see(path: &'static str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response()
}

/// The form.
pub(crate) async fn form(State(site): State<Arc<Site>>) -> Response {
    match site.access {
        Some(_) => form_with(""),
        None => see("/"),
    }
}

fn form_with(message: &str) -> Response {
    page(&FORM.replace("MESSAGE", message))
}

/// What the form has sent.
pub(crate) async fn log_in(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(access) = &site.access else {
        return see("/");
    };
    if is_from_elsewhere(&headers) {
        return Answer::text(403, "a page of another site has sent this form\n").into_response();
    }
    let read = axum::body::to_bytes(body, LONGEST_FORM);
    let Ok(Ok(form)) = tokio::time::timeout(PATIENCE, read).await else {
        return Answer::text(413, "this form is too long, or too slow\n").into_response();
    };
    let form = String::from_utf8_lossy(&form);
    let Some(token) = Query(&form).text("token") else {
        return Answer::text(400, "there is no token in this form\n").into_response();
    };
    match access.judge(token.trim(), peer) {
        Judged::Right => {
            let cookie = access.set_cookie(&access.session(), SESSION, &headers);
            ([(header::SET_COOKIE, cookie)], see("/")).into_response()
        }
        Judged::TooMany(wait) => too_many(wait),
        Judged::Wrong => {
            site.log(&format!("{peer} has tried to log in with a wrong token"));
            (
                StatusCode::UNAUTHORIZED,
                form_with("This is not the token."),
            )
                .into_response()
        }
    }
}

/// Forgets the browser.
pub(crate) async fn log_out(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    if is_from_elsewhere(&headers) {
        return Answer::text(403, "a page of another site has asked\n").into_response();
    }
    match &site.access {
        Some(access) => {
            let cookie = access.set_cookie("", Duration::ZERO, &headers);
            ([(header::SET_COOKIE, cookie)], see("/login")).into_response()
        }
        None => see("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: ([u8; 4], u16) = ([192, 0, 2, 1], 5);

    #[test]
    fn only_the_token_is_right_and_only_our_own_cookies_are() {
        let access = Access::new("open sesame", 4080, false).unwrap();
        assert_eq!(access.judge("open sesame", PEER.into()), Judged::Right);
        for wrong in ["", "open sesam", "open sesame ", "OPEN SESAME"] {
            assert_eq!(access.judge(wrong, PEER.into()), Judged::Wrong, "{wrong:?}");
        }
        let session = access.session();
        assert!(access.is_session(&session));
        let other = Access::new("open sesame", 4080, false).unwrap();
        assert!(!other.is_session(&session), "of another process");
        let (until, proof) = session.split_once('.').unwrap();
        let later = format!("{}.{proof}", until.parse::<u64>().unwrap() + 1);
        let short = &session[..session.len() - 2];
        let odd = format!("{until}.{}", "é".repeat(32));
        for forged in ["", ".", until, &later, short, &odd, &format!("+{session}")] {
            assert!(!access.is_session(forged), "{forged:?}");
        }
    }

    #[test]
    fn a_cookie_is_for_this_server_alone() {
        let access = Access::new("t", 4080, true).unwrap();
        let cookie = access.set_cookie("v", SESSION, &HeaderMap::new());
        let start = "__Host-tenure-4080=v; Path=/; HttpOnly; SameSite=Strict; ";
        assert!(
            cookie.starts_with(start) && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        let access = Access::new("t", 4080, false).unwrap();
        let mut headers = HeaderMap::new();
        for (origin, is_secure) in [
            ("http://dash.example", false),
            ("https://dash.example", true),
        ] {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            let cookie = access.set_cookie("v", SESSION, &headers);
            assert_eq!(cookie.ends_with("; Secure"), is_secure, "{cookie}");
        }
    }
}
