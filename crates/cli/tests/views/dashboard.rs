//! `tenure dashboard`, by raw HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{Home, PATIENCE, Started, eventually, holder};

struct Server {
    process: Started,
    address: String,
}

fn serve(home: &Home) -> Server {
    let mut command = home.tenure(&["dashboard", "--listen", "127.0.0.1:0"]);
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

    fn get(&self, path: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n",
            self.address
        ))
    }

    fn rows(&self) -> Vec<Value> {
        let answer = self.get("/api/status");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(head.contains("content-type: application/json"), "{head}");
        serde_json::from_str(body).unwrap()
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
    let evil = "<script>alert(1)</script>&'\"";
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
    assert_eq!(keys(&rows[0]), keys(&told));
    for key in ["name", "owner", "token", "waiters"] {
        assert_eq!(rows[0][key], told[key]);
    }
    let answer = server.get("/api/status");
    assert!(!answer.contains(['<', '>']), "{answer}");
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
            status(&format!("{method} /api/status HTTP/1.1\r\n\r\n")),
            "405"
        );
    }
    assert_eq!(status("nonsense\r\n\r\n"), "400");
    // A name that another site has led here must not read anything.
    assert_eq!(
        status("GET /api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        "421"
    );
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    // Refused before it is read to its end, which may reset the connection.
    assert!(matches!(status(&long).as_str(), "431" | ""));
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
}

#[test]
fn slow_clients_keep_nobody_out() {
    let home = Home::new();
    let server = serve(&home);
    let slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET / HTT").unwrap();
            stream
        })
        .collect();
    // Long before those who came first have to go.
    let start = Instant::now();
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
    assert!(server.get("/api/status").starts_with("HTTP/1.1 200"));
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
    drop(slow);
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
fn it_says_so_when_others_can_reach_it() {
    let home = Home::new();
    let mut command = home.tenure(&["dashboard", "--listen", "0.0.0.0:0"]);
    let mut process = Started(
        command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("no password"), "{line}");
}
