//! `tenure dashboard`, by raw HTTP. What its server answers is tested where it is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{Home, PATIENCE, Started, eventually, holder};

pub(super) struct Server {
    process: Started,
    address: String,
}

fn serve(home: &Home) -> Server {
    serving(home.tenure(&["dashboard", "--listen", "127.0.0.1:0"]))
}

/// The server that the command is.
pub(super) fn serving(mut command: Command) -> Server {
    let mut process = Started(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let address = url.strip_prefix("http://127.0.0.1:").unwrap();
    let address = format!("127.0.0.1:{}", address.trim_end_matches('/'));
    Server { process, address }
}

impl Server {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The answer to these bytes, as much of them as is wanted.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        // It may be answered, and the rest refused, before all is written.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    pub(super) fn get(&self, path: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n",
            self.address
        ))
    }

    fn rows(&self) -> Vec<Value> {
        let answer = self.get("/api/v1/mutexes");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let told: Value = serde_json::from_str(body).unwrap();
        told["mutexes"].as_array().unwrap().clone()
    }
}

fn code(process: &mut Child) -> Option<i32> {
    let mut status = None;
    eventually("the process ends", || {
        status = process.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

#[test]
fn it_tells_what_status_tells_and_lets_no_markup_through() {
    let home = Home::new();
    let server = serve(&home);
    assert!(server.rows().is_empty());
    let evil = "<script>alert(1)</script>&'\"\u{202e}\u{200b}";
    let _holder = holder(&home, evil, "m");
    let mut rows = Vec::new();
    eventually("the owner is told", || {
        rows = server.rows();
        rows.len() == 1
    });
    assert!(
        rows[0]["owner"].as_str().unwrap().starts_with(evil),
        "{rows:?}"
    );
    let told = home
        .tenure(&["status", "--output", "json"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    // Only one who has looked for a while knows how long a lease is.
    rows[0].as_object_mut().unwrap().remove("lease_ms").unwrap();
    assert_eq!(keys(&rows[0]), keys(&told));
    for key in ["name", "owner", "token", "waiters"] {
        assert_eq!(rows[0][key], told[key]);
    }
    let answer = server.get("/api/v1/mutexes");
    assert!(
        !answer.contains(['<', '>', '\u{202e}', '\u{200b}']),
        "{answer:?}"
    );
    assert!(answer.contains("\\u202e\\u200b"), "{answer:?}");
    assert!(
        answer.contains("x-content-type-options: nosniff"),
        "{answer}"
    );
}

#[test]
fn the_page_runs_only_its_own_script() {
    let home = Home::new();
    let server = serve(&home);
    let answer = server.get("/");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && head.contains("text/html"),
        "{head}"
    );
    let policy = head
        .lines()
        .find(|line| line.starts_with("content-security-policy:"))
        .unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let nonce = policy
        .split("nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert_eq!(body.matches(&format!("nonce=\"{nonce}\"")).count(), 2);
    assert_eq!(body.matches("<script").count(), 1);
    assert!(server.get("/healthz").ends_with("\r\n\r\nok\n"));
}

#[test]
fn what_is_not_a_plain_question_is_refused() {
    let home = Home::new();
    let server = serve(&home);
    let status = |request: &str| {
        let answer = server.ask(request);
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(status("GET /nothing HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status("GET /../etc/passwd HTTP/1.1\r\n\r\n"), "404");
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        assert_eq!(
            status(&format!("{method} /api/v1/mutexes HTTP/1.1\r\n\r\n")),
            "405"
        );
    }
    assert_eq!(status("nonsense\r\n\r\n"), "400");
    // A name that another site has led here must not read anything.
    for (host, code) in HOSTS {
        let request = format!("GET /api/v1/store HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(&request), code, "{host}");
    }
    for odd in [
        "GET /api/v1/store HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        "GET http://localhost/api/v1/store HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET /api/v1/store HTTP/1.1\r\nHost : evil.example\r\n\r\n",
    ] {
        assert_eq!(status(odd), "400", "{odd}");
    }
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    // Refused before it is read to its end, which may reset the connection.
    assert!(matches!(status(&long).as_str(), "431" | ""));
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
}

/// By which names a server on the loopback may be called.
const HOSTS: [(&str, &str); 8] = [
    ("localhost:80", "200"),
    ("LOCALHOST", "200"),
    ("[::1]:4080", "200"),
    ("evil.example", "421"),
    ("[::1].evil.example", "421"),
    ("127.0.0.1.evil", "421"),
    ("localhost.", "421"),
    ("", "421"),
];

#[test]
fn the_leader_is_told_under_the_same_names_only() {
    let home = Home::new();
    let words = [
        "-v",
        "lead",
        "m",
        "--http",
        "127.0.0.1:0",
        "--",
        "sleep",
        "1000",
    ];
    let mut process = Started(home.tenure(&words).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let line = lines.find_map(|line| {
        line.unwrap()
            .split_once("http://")
            .map(|(_, at)| at.to_owned())
    });
    let address = line.unwrap().trim_end_matches('/').to_owned();
    std::thread::spawn(move || lines.for_each(drop));
    let server = Server { process, address };
    // It answers before it has reached the store.
    eventually("it knows who leads", || {
        let answer = server.get("/leader");
        assert!(!answer.starts_with("HTTP/1.1 404"), "{answer}");
        answer.starts_with("HTTP/1.1 200")
    });
    for path in ["/leader", "/healthz"] {
        for (host, code) in HOSTS {
            let answer = server.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {code}")),
                "{host}: {answer}"
            );
        }
    }
    assert!(server.get("/leader").contains("\"name\":\"m\""));
}

#[test]
fn with_few_files_the_oldest_makes_room() {
    let home = Home::new();
    // Just enough to start with.
    let mut command = home.command("sh");
    let script = "ulimit -n 26; exec \"$TENURE\" dashboard --listen 127.0.0.1:0";
    command.args(["-c", script]);
    let server = serving(command);
    for _ in 0..3 {
        let slow = || (0..40).map(|_| server.connect()).collect();
        answers_in_time(&server, slow);
    }
}

/// Beside those who are slow it answers long before the first of them have to go. A machine that
/// stood still proves nothing, so there is more than one try: a client that was kept out would
/// be so every time.
fn answers_in_time(server: &Server, slow: impl Fn() -> Vec<TcpStream>) {
    let mut taken = Vec::new();
    for _ in 0..5 {
        let slow = slow();
        let start = Instant::now();
        assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
        assert!(server.get("/api/v1/mutexes").starts_with("HTTP/1.1 200"));
        taken.push(start.elapsed());
        drop(slow);
        if taken.last() < Some(&Duration::from_secs(8)) {
            return;
        }
    }
    panic!("it took {taken:?}");
}

#[test]
fn slow_clients_keep_nobody_out() {
    let home = Home::new();
    let server = serve(&home);
    let slow = || {
        let begin = |_| {
            let mut stream = server.connect();
            stream.write_all(b"GET / HTT").unwrap();
            stream
        };
        (0..300).map(begin).collect()
    };
    answers_in_time(&server, slow);
}

#[test]
fn it_ends_when_told_to_and_says_where_it_cannot_listen() {
    let home = Home::new();
    let mut server = serve(&home);
    let taken = home
        .tenure(&["dashboard", "--listen", &server.address])
        .output()
        .unwrap();
    assert_eq!(taken.status.code(), Some(2));
    let wrong = home
        .tenure(&["dashboard", "--listen", "nonsense"])
        .output()
        .unwrap();
    let hint = String::from_utf8_lossy(&wrong.stderr);
    assert!(hint.contains("HOST:PORT"), "{hint}");
    kill_process(Pid::from_child(&server.process.0), Signal::TERM).unwrap();
    assert_eq!(code(&mut server.process.0), Some(143));
}

#[test]
fn beyond_this_host_it_wants_a_token_or_to_be_told_that_all_may_come() {
    let home = Home::new();
    let refused = |words: &[&str], why: &str| {
        let mut all = vec!["dashboard", "--listen", "0.0.0.0:0"];
        all.extend(words);
        let refused = home.tenure(&all).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: {said}");
    };
    refused(&[], "--token-file FILE, or --open-to-all");
    refused(&["--open-to-all", "--allow-revoke"], "--token-file FILE");
    refused(&["--token-file", "nothing"], "cannot read nothing");
    std::fs::write(home.path("empty"), "\n").unwrap();
    refused(&["--token-file", "empty"], "is empty");
    std::fs::write(home.path("short"), "fifteen letters\n").unwrap();
    refused(&["--token-file", "short"], "openssl rand -hex 32");
    refused(&["--open-to-all", "--tls-cert", "x"], "--tls-key");
    let tls = ["--open-to-all", "--tls-cert", "x", "--tls-key", "y"];
    refused(&tls, "--tls-cert and --tls-key: x: ");
    let words = ["dashboard", "--listen", "0.0.0.0:0", "--open-to-all"];
    let mut command = home.tenure(&words);
    command.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut process = Started(command.spawn().unwrap());
    let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("no password"), "{line}");
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("without TLS"), "{line}");
}

#[test]
fn with_a_token_only_who_knows_it_is_answered() {
    let home = Home::new();
    std::fs::write(home.path("token"), "a word of more than sixteen\n").unwrap();
    let words = [
        "dashboard",
        "--listen",
        "127.0.0.1:0",
        "--token-file",
        "token",
    ];
    let server = serving(home.tenure(&words));
    assert!(server.get("/api/v1/store").starts_with("HTTP/1.1 401"));
    assert!(server.get("/metrics").starts_with("HTTP/1.1 401"));
    let asked = |token: &str| {
        server.ask(&format!(
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
    };
    let metrics = asked("a word of more than sixteen");
    assert!(metrics.contains("tenure_stores_in_trouble"), "{metrics}");
    assert!(asked("another").starts_with("HTTP/1.1 401"));
    let mut command = home.tenure(&["dashboard", "--listen", "127.0.0.1:0"]);
    command.env("TENURE_DASHBOARD_TOKEN", "another of more than sixteen");
    assert!(
        serving(command)
            .get("/api/v1/store")
            .starts_with("HTTP/1.1 401")
    );
}

#[test]
fn what_is_revoked_from_the_page_is_said() {
    let home = Home::new();
    let _holder = holder(&home, "a", "m");
    let mut command = home.tenure(&["dashboard", "--listen", "127.0.0.1:0", "--allow-revoke"]);
    let mut server = serving({
        command.stderr(Stdio::piped());
        command
    });
    let lines = BufReader::new(server.process.0.stderr.take().unwrap()).lines();
    let body = format!(
        r#"{{"confirm":"m","token":"{}"}}"#,
        home.line("token").trim()
    );
    let answer = server.ask(&format!(
        "POST /api/v1/mutexes/m/revoke HTTP/1.1\r\nHost: localhost\r\nx-tenure-request: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(answer.contains("\"revoked\":true"), "{answer}");
    let said: Vec<String> = lines.map(Result::unwrap).take(2).collect();
    assert!(said[0].contains("is freeing \"m\" by force"), "{said:?}");
    assert!(
        said[1].contains("has freed \"m\" by force from \"a/"),
        "{said:?}"
    );
}
