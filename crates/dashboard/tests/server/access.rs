//! Who may come: the token, the cookie, TLS, and the names of the server.

use std::process::Command;

use tenure::Coordinator;
use tenure_dashboard::site::{BindError, Dashboard, DashboardOptions};
use tenure_testkit::servers::Certificates;

use crate::support::{Reply, Server};

const TOKEN: &str = "a long word that others do not guess";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn guarded() -> Server {
    Server::with(DashboardOptions::default().token(TOKEN)).await
}

async fn log_in(server: &Server, token: &str, headers: &[(&str, &str)]) -> Reply {
    let body = format!("token={}", token.replace(' ', "+"));
    let headers: Vec<_> = headers.iter().copied().chain([FORM]).collect();
    server.ask("POST", "/login", &headers, &body).await
}

#[tokio::test]
async fn without_the_token_nothing_is_told() {
    let server = guarded().await;
    for path in [
        "/api/v1/mutexes",
        "/api/v1/mutexes/m",
        "/api/v1/history?names=m",
        "/api/v1/store",
        "/api/v1/events",
        "/api/v1/openapi.json",
        "/metrics",
        "/nothing",
    ] {
        let reply = server.get(path).await;
        assert_eq!(reply.status, 401, "{path}: {reply:?}");
        assert!(reply.header("www-authenticate").is_some(), "{reply:?}");
    }
    let revoke = server
        .ask("POST", "/api/v1/mutexes/m/revoke", &[], "")
        .await;
    assert_eq!(revoke.status, 401);
    assert_eq!(server.get("/").await.header("location"), Some("/login"));
    assert_eq!(server.get("/healthz").await.status, 200);
    assert!(matches!(server.get("/readyz").await.status, 200 | 503));
    let form = server.get("/login").await;
    assert!(form.body.contains("name=\"token\""), "{form:?}");
    let policy = form.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self'"), "{policy}");
}

#[tokio::test]
async fn a_token_that_can_be_guessed_is_none_for_others() {
    let coordinator = Coordinator::connect("memory:").await.unwrap();
    let short = || DashboardOptions::default().token("fifteen letters");
    let with = |address, options| Dashboard::bind(address, coordinator.clone(), options);
    for refused in [
        with("0.0.0.0:0", short()).await,
        with("127.0.0.1:0", short().host("dash.example.com")).await,
        with("0.0.0.0:0", short().open_to_all(true)).await,
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, BindError::ShortToken(_)), "{error}");
        assert!(error.to_string().contains("less than 16 characters"));
    }
    with("127.0.0.1:0", short()).await.unwrap();
    let long = DashboardOptions::default().token("of sixteen chars");
    with("0.0.0.0:0", long).await.unwrap();
}

#[tokio::test]
async fn a_program_shows_the_token_and_a_browser_a_cookie() {
    let server = guarded().await;
    let bearer = format!("Bearer {TOKEN}");
    for right in [&bearer, &format!("bearer  {TOKEN}")] {
        let headers = [("authorization", right.as_str())];
        let reply = server.ask("GET", "/api/v1/store", &headers, "").await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    for wrong in ["Bearer x", "Bearer", "Basic eDp5", TOKEN] {
        let headers = [("authorization", wrong)];
        let reply = server.ask("GET", "/api/v1/store", &headers, "").await;
        assert_eq!(reply.status, 401, "{wrong}");
    }
    let wrong = log_in(&server, "x", &[]).await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    assert!(wrong.body.contains("This is not the token"), "{wrong:?}");
    for elsewhere in [
        ("origin", "http://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        assert_eq!(log_in(&server, TOKEN, &[elsewhere]).await.status, 403);
    }
    let right = log_in(&server, TOKEN, &[]).await;
    assert_eq!((right.status, right.header("location")), (303, Some("/")));
    let cookie = right.header("set-cookie").unwrap();
    for part in ["httponly", "samesite=strict", "path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let pair = cookie.split(';').next().unwrap().to_owned();
    let with = [("cookie", pair.as_str())];
    assert_eq!(
        server.ask("GET", "/api/v1/store", &with, "").await.status,
        200
    );
    assert_eq!(server.ask("GET", "/", &with, "").await.status, 200);
    let among = format!("a=b; {pair}; c");
    let with = [("cookie", among.as_str())];
    assert_eq!(
        server.ask("GET", "/api/v1/store", &with, "").await.status,
        200
    );
    let forged = pair.replace('1', "2");
    let with = [("cookie", forged.as_str())];
    assert_eq!(
        server.ask("GET", "/api/v1/store", &with, "").await.status,
        401
    );
    let out = server
        .ask("POST", "/logout", &[("cookie", &pair)], "")
        .await;
    assert!(
        out.header("set-cookie").unwrap().contains("max-age=0"),
        "{out:?}"
    );
}

#[tokio::test]
async fn who_guesses_is_sent_away_and_the_right_token_is_not() {
    let server = guarded().await;
    let mut refused = 0;
    for number in 0..15 {
        let reply = log_in(&server, &format!("guess {number}"), &[]).await;
        refused += u32::from(reply.status == 429);
    }
    assert_eq!(refused, 5);
    let reply = log_in(&server, "one more", &[]).await;
    assert!(reply.header("retry-after").is_some());
    let reply = log_in(&server, TOKEN, &[]).await;
    assert_eq!(reply.status, 303, "of another behind the same proxy");
    let long = log_in(&server, &"x".repeat(10_000), &[]).await;
    assert_eq!(long.status, 413);
}

#[tokio::test]
async fn beyond_this_host_a_token_is_needed() {
    let coordinator = Coordinator::connect("memory:").await.unwrap();
    let bind = async |options| Dashboard::bind("0.0.0.0:0", coordinator.clone(), options).await;
    let options = DashboardOptions::default;
    let error = bind(options()).await.unwrap_err();
    assert!(matches!(error, BindError::NeedsToken(_)), "{error}");
    let open = options().open_to_all(true);
    assert!(!bind(open.clone()).await.unwrap().is_local());
    let error = bind(open.allow_revoke(true)).await.unwrap_err();
    assert!(matches!(error, BindError::RevokeNeedsToken(_)), "{error}");
    assert!(
        bind(options().token(TOKEN).allow_revoke(true))
            .await
            .is_ok()
    );
    // A name besides is for others, however they come.
    let named = async |options| Dashboard::bind("127.0.0.1:0", coordinator.clone(), options).await;
    let behind = || options().host("dash.example");
    let error = named(behind()).await.unwrap_err();
    assert!(matches!(error, BindError::NeedsToken(_)), "{error}");
    let revoking = behind().open_to_all(true).allow_revoke(true);
    let error = named(revoking).await.unwrap_err();
    assert!(matches!(error, BindError::RevokeNeedsToken(_)), "{error}");
    assert!(
        named(behind().token(TOKEN).allow_revoke(true))
            .await
            .is_ok()
    );
    let missing = options().tls("/nowhere.crt", "/nowhere.key");
    let error = bind(missing).await.unwrap_err();
    assert!(error.to_string().contains("/nowhere.crt"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_tls_there_is_nothing_to_be_read_on_the_way() {
    let files = Certificates::make();
    let options = DashboardOptions::default()
        .token(TOKEN)
        .tls(files.path("server.crt"), files.path("server.key"));
    let server = Server::with(options).await;
    let plain = server.get("/healthz").await;
    assert_eq!(plain.status, 0, "{plain:?}");
    let ask = async |more: Vec<String>| {
        let url = format!("https://localhost:{}", server.address.port());
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "-S",
            "--http1.1",
            "--cacert",
            &files.path("ca.crt"),
            "-i",
        ]);
        curl.args(more.into_iter().map(|word| word.replace("URL", &url)));
        let output = tokio::task::spawn_blocking(move || curl.output()).await;
        let output = output.unwrap().expect("curl is installed");
        String::from_utf8(output.stdout).unwrap().to_lowercase()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let health = ask(words(&["URL/healthz"])).await;
    assert!(health.starts_with("http/1.1 200"), "{health}");
    let token = format!("authorization: bearer {TOKEN}");
    let store = ask(words(&["-H", &token, "URL/api/v1/store"])).await;
    assert!(store.contains("\"scheme\":\"memory\""), "{store}");
    let login = ask(words(&[
        "--data-urlencode",
        &format!("token={TOKEN}"),
        "URL/login",
    ]))
    .await;
    assert!(login.contains("set-cookie: __host-tenure-"), "{login}");
    assert!(login.contains("; secure"), "{login}");
}

#[tokio::test]
async fn only_its_own_names_lead_to_a_server_of_this_host() {
    let options = DashboardOptions::default().host("dash.example");
    let server = Server::with(options.open_to_all(true)).await;
    for host in [
        "localhost",
        "LOCALHOST:9",
        "[::1]:80",
        "127.9.9.9",
        "Dash.Example:443",
    ] {
        let reply = server
            .ask("GET", "/api/v1/store", &[("host", host)], "")
            .await;
        assert_eq!(reply.status, 200, "{host}: {reply:?}");
    }
    for host in [
        "evil.example",
        "",
        "localhost.",
        "10.0.0.1",
        "é",
        "dash.example.evil",
    ] {
        let reply = server
            .ask("GET", "/api/v1/store", &[("host", host)], "")
            .await;
        assert_eq!(reply.status, 421, "{host}: {reply:?}");
    }
    // The page of a site that has had its own name lead here.
    let rebound = [("host", "evil.example"), ("origin", "http://evil.example")];
    for path in ["/", "/api/v1/events", "/metrics", "/healthz", "/login"] {
        assert_eq!(
            server.ask("GET", path, &rebound, "").await.status,
            421,
            "{path}"
        );
    }
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let reply = server.ask("GET", "/api/v1/mutexes", &elsewhere, "").await;
    assert_eq!(reply.status, 403);
    assert_eq!(
        server.ask("GET", "/", &elsewhere, "").await.status,
        200,
        "a link"
    );
}
