//! Strangers on this host who connect to the ports that lead to our server.

use std::collections::{HashSet, VecDeque};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenure_testkit::AtTheEnd;
use tenure_testkit::peer::Peer;
use tenure_testkit::servers::Proxy;

use crate::support::{PATIENCE, name};
use crate::tls::{PAPERS, secure, url};

/// What a process has of the system's: files, threads, memory in MB.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    files: u64,
    threads: u64,
    memory: u64,
}

impl Use {
    fn of(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let value = line.unwrap().split_ascii_whitespace().next().unwrap();
            value.parse::<u64>().unwrap()
        };
        Self {
            files: std::fs::read_dir(format!("/proc/{pid}/fd"))
                .unwrap()
                .count() as u64,
            threads: field("Threads:"),
            memory: field("VmRSS:") / 1024,
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            files: self.files.max(other.files),
            threads: self.threads.max(other.threads),
            memory: self.memory.max(other.memory),
        }
    }
}

/// Where the process listens on this host.
fn listening(pid: u32) -> Vec<SocketAddr> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let sockets: HashSet<_> = files
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let listens = |line: &str| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let is_its = sockets.contains(&format!("socket:[{}]", fields.get(9)?));
        let port = u16::from_str_radix(fields[1].split(':').nth(1)?, 16).ok()?;
        (is_its && fields[3] == "0A").then(|| ([127, 0, 0, 1], port).into())
    };
    table.lines().filter_map(listens).collect()
}

/// Connects to `port` as often as the system allows while `work` is done; how
/// often that was.
fn flooded<T>(port: SocketAddr, threads: usize, work: impl FnOnce() -> T) -> (T, u64) {
    let (over, came) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // As many as may be open at a time, each for as long as it can.
                let mut open = VecDeque::new();
                while !over.load(Ordering::Relaxed) {
                    let wait = Duration::from_millis(5);
                    if let Ok(stream) = TcpStream::connect_timeout(&port, wait) {
                        came.fetch_add(1, Ordering::Relaxed);
                        open.push_back(stream);
                    }
                    if open.len() > 400 {
                        open.pop_front();
                    }
                }
            });
        }
        // Also when the test fails, or the flood would never end.
        let _over = AtTheEnd(|| over.store(true, Ordering::Relaxed));
        work()
    });
    (done, came.into_inner())
}

/// Whether it has ever left office.
fn is_left(owner: &mut Peer) -> bool {
    // Hears all that it has said by now.
    while owner.acquired_within(Duration::ZERO).is_some() {}
    owner.said().iter().any(|line| line == "released")
}

#[test]
fn a_flood_of_strangers_costs_little_and_no_leadership() {
    let name = name("flood");
    // Proven for five seconds: a machine that others share may keep everybody waiting for two.
    let url = url("localhost", secure(), &PAPERS.options()).replace("=4s", "=8s");
    let mut owner = Peer::contending(&url, &name).id("owner").spawn();
    owner.wait_acquired(PATIENCE);
    let before = Use::of(owner.pid());
    let ports = listening(owner.pid());
    assert!(!ports.is_empty(), "it has a way to the server");

    let (most, came) = flooded(ports[0], 2, || {
        // Longer than it could lead without a word of the server's.
        let end = Instant::now() + Duration::from_secs(8);
        let mut most = before;
        while Instant::now() < end {
            most = most.max(Use::of(owner.pid()));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!is_left(&mut owner), "it leads all the time");
        // In the midst of it, it hears what it is told and does it at once.
        let told = Instant::now();
        owner.quit(PATIENCE);
        assert!(
            told.elapsed() < Duration::from_secs(10),
            "{:?}",
            told.elapsed()
        );
        most
    });
    eprintln!("{came} strangers: {before:?} before, {most:?} at most");
    assert!(came > 100, "a flood: {came}");
    assert!(most.files < before.files + 100, "{most:?}");
    assert!(most.threads < before.threads + 16, "{most:?}");
    assert!(most.memory < before.memory + 64, "{most:?}");
}

/// What is connected is not touched by a crowd; what is cut must get past it.
#[test]
fn an_owner_whose_connection_is_cut_comes_through_a_flood_of_strangers() {
    let name = name("flood-cut");
    let proxy = Proxy::start(([127, 0, 0, 1], secure()).into()).unwrap();
    let url = url("localhost", proxy.port(), &PAPERS.options()).replace("=4s", "=20s");
    let mut owner = Peer::contending(&url, &name).id("owner").spawn();
    let first = owner.wait_acquired(PATIENCE);
    let port = listening(owner.pid())[0];
    // As many as leave the owner its share of two processors: it can be kept from those, too.
    let ((), came) = flooded(port, 2, || {
        for cut in 0..4 {
            std::thread::sleep(Duration::from_millis(500));
            proxy.cut().unwrap();
            let begun = Instant::now();
            while proxy.connections() == 0 {
                let left = is_left(&mut owner);
                assert!(!left, "lost in {:?} after cut {cut}", begun.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            eprintln!("cut {cut}: connected again after {:?}", begun.elapsed());
        }
    });
    // Time for more than one renewal.
    std::thread::sleep(Duration::from_secs(6));
    assert!(!is_left(&mut owner), "it leads all the time");
    eprintln!("{came} strangers");
    assert!(came > 1000, "a flood: {came}");
    owner.tell("stop");
    owner.wait_line(PATIENCE, "stopped");
    owner.tell("start");
    assert!(owner.wait_acquired(PATIENCE).token > first.token);
    owner.quit(PATIENCE);
}
