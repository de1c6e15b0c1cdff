//! What the web can try against both servers, the dashboard and `lead --http`:
//! slow clients, names that lead here from elsewhere, and markup everywhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure::{Coordinator, LockGuard};
use tenure_testkit::AtTheEnd;

use super::support::{Home, PATIENCE, Started, eventually};

/// A server, and what it has to say.
struct Server {
    _process: Started,
    address: String,
    /// What it answers to everybody.
    path: &'static str,
}

/// Both servers, of one store.
fn both(home: &Home) -> [Server; 2] {
    [dashboard(home), lead(home)]
}

fn dashboard(home: &Home) -> Server {
    let mut command = home.tenure(&["dashboard", "--listen", "127.0.0.1:0"]);
    let mut process = Started(command.stdout(Stdio::piped()).spawn().unwrap());
    let line = BufReader::new(process.0.stdout.take().unwrap())
        .lines()
        .next();
    let url = line.unwrap().unwrap();
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    Server {
        _process: process,
        address,
        path: "/api/v1/store",
    }
}

fn lead(home: &Home) -> Server {
    let words = ["-v", "lead", "led", "--http", "127.0.0.1:0", "--", "cat"];
    let mut command = home.tenure(&words);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Started(command.spawn().unwrap());
    let lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let line = lines.find(|line| line.contains("http://")).unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.trim_end_matches('/').to_owned();
    // Whatever else it says must go somewhere.
    std::thread::spawn(move || lines.for_each(drop));
    Server {
        _process: process,
        address,
        path: "/leader",
    }
}

impl Server {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Head and body of the answer to these bytes.
    fn ask(&self, request: &[u8]) -> (String, String) {
        let mut stream = self.connect();
        // It may be answered, and the rest refused, before all is written.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (String, String) {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes())
    }
}

#[test]
fn two_hundred_and_fifty_six_who_send_a_byte_now_and_then_keep_nobody_out() {
    let home = Home::new();
    for server in both(&home) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Also when the test fails, or the slow ones would never end.
            let _over = AtTheEnd(|| is_over.store(true, Ordering::Relaxed));
            scope.spawn(|| {
                let request = format!("GET {} HTTP/1.1\r\nx: y\r\n", server.path);
                let mut slow: Vec<TcpStream> = (0..256).map(|_| server.connect()).collect();
                for byte in request.as_bytes().iter().cycle() {
                    for stream in &mut slow {
                        // One that was sent away comes again.
                        if stream.write_all(&[*byte]).is_err() {
                            *stream = server.connect();
                        }
                    }
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            let longest = |_| {
                let taken = (0..10).map(|_| {
                    let start = Instant::now();
                    let (head, _) = server.get(server.path);
                    assert!(head.starts_with("HTTP/1.1 200"), "{} {head}", server.path);
                    let taken = start.elapsed();
                    std::thread::sleep(Duration::from_millis(200));
                    taken
                });
                taken.max().unwrap()
            };
            // A machine that stood still proves nothing; a client that is kept out is so every time.
            let is_fast = (0..3).map(longest).any(|it| it < Duration::from_secs(9));
            assert!(is_fast, "{} answers late every time", server.path);
        });
    }
}

/// What a `Host` may be where a page of another site has its name lead here.
fn foreign_hosts() -> Vec<String> {
    let mut hosts = Vec::new();
    for ours in ["localhost", "127.0.0.1", "LOCALHOST", "127.9.9.9", "[::1]"] {
        for odd in [
            "{}.evil.example",
            "evil.example.{}.example",
            "{}@evil.example",
            "x{}",
            "{}x",
            "evil.example/{}",
            "evil.example#{}",
            "{} evil.example",
            "{},evil.example",
            "{}\\.evil",
            "{}%00.evil.example",
            "-{}",
            "{}..",
            "\"{}\"",
            "<{}>",
            "http://{}",
        ] {
            hosts.push(odd.replace("{}", ours));
        }
    }
    let others = [
        "",
        "evil.example",
        "10.0.0.1",
        "0.0.0.0",
        "[::]",
        "[::2]",
        "[::1",
        "::1]",
        "[]",
        "127.1",
        "2130706433",
        "0x7f.1",
        "127.0.0.1.nip.io",
        "[::ffff:10.0.0.1]",
        "*",
        "xn--localhost",
        "%",
        "169.254.169.254",
        "metadata.google.internal",
        "é",
    ];
    hosts.extend(others.map(str::to_owned));
    hosts.push("x".repeat(5_000));
    let with_ports = hosts
        .iter()
        .flat_map(|host| [host.clone(), format!("{host}:80")]);
    with_ports.collect()
}

#[test]
fn a_name_that_leads_here_from_elsewhere_reads_nothing() {
    let home = Home::new();
    for server in [dashboard(&home), lead(&home)] {
        answers_to_this_host(&server);
        tells_no_other_name(&server);
    }
}

fn answers_to_this_host(server: &Server) {
    let (_, port) = server.address.rsplit_once(':').unwrap();
    for ours in ["localhost", "LocalHost", "127.0.0.1", "[::1]", "127.0.0.2"] {
        for host in [
            ours.to_owned(),
            format!("{ours}:{port}"),
            format!(" {ours}\t"),
        ] {
            let asked = format!("GET {} HTTP/1.1\r\nHoSt:{host}\r\n\r\n", server.path);
            let (head, _) = server.ask(asked.as_bytes());
            assert!(
                head.starts_with("HTTP/1.1 200"),
                "{} {host:?}: {head}",
                server.path
            );
        }
    }
}

fn tells_no_other_name(server: &Server) {
    let mut heard = Vec::new();
    for host in foreign_hosts() {
        let asked = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", server.path);
        let (head, body) = server.ask(asked.as_bytes());
        if !head.starts_with("HTTP/1.1 4") || body.contains(['{', '[']) {
            heard.push(format!("{host:?}: {head}"));
        }
    }
    assert!(
        heard.is_empty(),
        "{}: {} names read:\n{}",
        server.path,
        heard.len(),
        heard.join("\n")
    );
}

/// Names and ids with what a browser could take for more than text.
const MARKUP: [&str; 16] = [
    "<script>x</script>",
    "</script><script>x</script>",
    "<img src=x onerror=x>",
    "\"><svg onload=x>",
    "' onmouseover='x",
    "javascript:x",
    "<a href=javascript:x>",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "{{x}}",
    "${x}",
    "\\u003cb\\u003e",
    "<base href=//e>",
    "<style>*{}</style>",
    "a\u{2028}<b>",
];

/// All of them held, by ids that are no better.
async fn hold_all(home: &Home) -> (Coordinator, Vec<LockGuard>) {
    let path = home.path("tenure");
    std::fs::create_dir_all(&path).unwrap();
    let url = format!("sqlite:{}/tenure.db", path.display());
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let mut guards = Vec::new();
    for name in MARKUP {
        guards.push(coordinator.lock(name).unwrap().acquire().await.unwrap());
    }
    (coordinator, guards)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markup_in_a_name_stays_text() {
    let home = Home::new();
    let (coordinator, guards) = hold_all(&home).await;
    let server = dashboard(&home);
    let without_nonce = |page: &str| {
        let at = page.find("nonce=\"").unwrap() + 7;
        page.replace(&page[at..at + 32], "")
    };
    let page = without_nonce(&server.get("/").1);
    let mut names = Vec::new();
    eventually("all are told", || {
        let (head, body) = server.get("/api/v1/mutexes");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
        assert!(!body.contains(['<', '>', '&']), "{body}");
        let told: serde_json::Value = serde_json::from_str(&body).unwrap();
        let rows = told["mutexes"].as_array().unwrap();
        names = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect();
        names.len() >= MARKUP.len()
    });
    for name in MARKUP {
        assert!(
            names.iter().any(|told| told == name),
            "{name:?} is not in {names:?}"
        );
    }
    assert_eq!(
        without_nonce(&server.get("/").1),
        page,
        "the page holds no data"
    );
    drop(guards);
    coordinator.close().await.unwrap();
}

#[test]
fn no_answer_repeats_what_was_asked() {
    let home = Home::new();
    for server in both(&home) {
        for mark in MARKUP.iter().filter(|mark| mark.contains('<')) {
            let mark = mark.replace(' ', "%20");
            let host = &server.address;
            for request in [
                format!("GET /{mark} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
                format!("GET /?{mark} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
                format!(
                    "GET {}?callback={mark} HTTP/1.1\r\nHost: {host}\r\n\r\n",
                    server.path
                ),
                format!("{mark} / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
                format!("GET / {mark}\r\nHost: {host}\r\n\r\n"),
                format!("GET / HTTP/1.1\r\nHost: {mark}\r\n\r\n"),
                format!("GET / HTTP/1.1\r\n{mark}: {mark}\r\nHost: {host}\r\n\r\n"),
                format!("GET /{mark}{} HTTP/1.1\r\n\r\n", "y".repeat(20_000)),
            ] {
                let (head, body) = server.ask(request.as_bytes());
                assert!(
                    !head.contains(&mark) && !body.contains(&mark),
                    "{request:?}: {head} {body}"
                );
                // What is no HTTP at all is answered by a status alone.
                let is_plain = (head.starts_with("HTTP/1.1 4") && body.is_empty())
                    || head.contains("content-type: text/plain")
                    || head.contains("content-type: application/json")
                    || head.contains("content-security-policy: default-src 'none'");
                // One that is too long may find its connection gone.
                assert!(is_plain || head.is_empty(), "{request:?}: {head}");
            }
        }
        for bytes in [
            &b"\xff\xfe\r\n\r\n"[..],
            b"GET /\xff HTTP/1.1\r\n\r\n",
            b"\0\r\n\r\n",
            b"\r\n\r\n",
            b"",
        ] {
            let _ = server.ask(bytes);
            assert!(
                server.get("/healthz").0.starts_with("HTTP/1.1 200"),
                "after {bytes:?}"
            );
        }
    }
}
