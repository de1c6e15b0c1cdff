//! `examples/resource.rs` as three processes: a resource, and two workers of which one is stopped
//! for longer than its lease.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

#[allow(dead_code)] // its `main` reads the command line
#[path = "../examples/resource.rs"]
mod resource;

/// What makes this program one of the three.
const WORDS: &str = "TENURE_AXUM_RESOURCE";
const LIMIT: Duration = Duration::from_secs(90);

/// Not a test of its own: a process of the story begins here.
#[test]
fn a_process_of_the_story() {
    let Ok(words) = std::env::var(WORDS) else {
        return;
    };
    let words: Vec<&str> = words.split(' ').collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(resource::run(&words)).unwrap();
}

/// Killed with the test.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    fn start(words: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_of_the_story", "--nocapture"])
            .env(WORDS, words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, lines) = mpsc::channel();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || said.map_while(Result::ok).try_for_each(|l| tell.send(l)));
        let input = child.stdin.take().unwrap();
        Self {
            child,
            input,
            lines,
        }
    }

    /// What follows these words in the next line that has them.
    fn hear(&self, words: &str) -> String {
        let (end, mut said) = (Instant::now() + LIMIT, Vec::new());
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no {words:?} within {LIMIT:?}, only {said:#?}");
            };
            // The test runner may have written before it in the line.
            if let Some((_, rest)) = line.split_once(words) {
                return rest.to_owned();
            }
            said.push(line);
        }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn balance(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /accounts/7 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split("\r\n\r\n").nth(1).unwrap().to_owned()
}

#[test]
fn the_late_write_of_a_stopped_owner_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resource.db");
    let resource = Process::start("serve 127.0.0.1:0");
    let address = resource.hear("listening on ");
    let work = format!(
        "work {address} sqlite:{}?ttl=4s&transition=8s",
        file.display()
    );

    let mut first = Process::start(&work);
    let old = first.hear("owns with ");
    let mut second = Process::start(&work);
    first.tell("80");
    assert_eq!(first.hear("200 "), format!("written with {old}"));
    // It has looked at its clock once more, and is about to write.
    assert_eq!(first.hear("owns with "), old);
    first.signal(Signal::STOP);

    let new = second.hear("owns with ");
    second.tell("60");
    assert_eq!(second.hear("200 "), format!("written with {new}"));

    first.signal(Signal::CONT);
    first.tell("0");
    let refused = first.hear("409 ");
    assert!(
        refused.contains(&format!(r#""newest":"{new}""#)),
        "{refused}"
    );
    first.hear("stopped: ");
    assert_eq!(balance(&address), "60");
    second.tell("50");
    second.hear("200 ");
    assert_eq!(balance(&address), "50");
}
