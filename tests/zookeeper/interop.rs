//! Sharing a mutex with Curator's LeaderLatch.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use tenure::backend::{Backend as _, Page, Severity};
use tenure::model::{MutexName, Purpose};
use tenure::service::{ContendService, LocalContender};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::find::Server;

use crate::support::{PATIENCE, SERVER, client, coordinator, name, until};

/// What `tests/zookeeper/Latch.java` needs; what a jar's directory lacks is not
/// missed.
const JARS: [&str; 11] = [
    "curator-recipes",
    "curator-framework",
    "curator-client",
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-nop",
    "guava",
    "netty-all",
    "metrics-core",
    "snappy-java",
];

/// The class path, with our program compiled.
static CLASSES: LazyLock<OsString> = LazyLock::new(|| {
    let recipes = Server::Curator.find("curator-recipes.jar").unwrap();
    let jars = recipes.parent().unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
    std::fs::create_dir_all(&directory).unwrap();
    let jars = JARS.iter().map(|jar| jars.join(format!("{jar}.jar")));
    let path = std::env::join_paths(jars.chain([directory.clone()])).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zookeeper/Latch.java");
    let compiled = Command::new(Server::Curator.find("javac").unwrap())
        .args([Path::new("-d"), &directory, &source])
        .arg("-cp")
        .arg(&path)
        .status();
    assert!(compiled.unwrap().success(), "{} compiles", source.display());
    path
});

/// A contender of Curator's, in a Java machine of its own.
struct Curator {
    child: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
}

impl Curator {
    fn start(path: &str, id: &str, timeout: Duration) -> Self {
        let java: PathBuf = Server::ZooKeeper.find("java").unwrap();
        let mut child = Command::new(java)
            .args(["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg("-cp")
            .arg(&*CLASSES)
            .args(["Latch", &SERVER.address().to_string(), path, id])
            .arg(timeout.as_millis().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        let mut curator = Self {
            child,
            commands,
            lines,
        };
        curator.hear("ready");
        curator
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    /// All lines until this one.
    fn hear(&mut self, wanted: &str) -> Vec<String> {
        let mut heard = Vec::new();
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line == wanted => return heard,
                Ok(line) => heard.push(line),
                Err(error) => panic!("Curator did not say {wanted:?}: {error}, after {heard:?}"),
            }
        }
    }
}

impl Drop for Curator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leadership_passes_to_curator_and_back() {
    let name = name("shared");
    let path = format!("/simba/{name}");
    let timeout = Duration::from_secs(2);
    let mut curator = Curator::start(&path, "java", timeout);
    curator.tell("start");
    curator.hear("leader");

    let coordinator = coordinator(SERVER.address(), "2s").await;
    let contender = LocalContender::new(&name).unwrap();
    let contender = contender.with_id("rust").unwrap();
    let led: Arc<Mutex<Option<Instant>>> = Arc::default();
    let when = Arc::clone(&led);
    let contender = contender.on_acquired(move |_| {
        when.lock().unwrap().get_or_insert_with(Instant::now);
    });
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    until("ours knows who leads", || {
        let state = service.state();
        state
            .after
            .owner_id()
            .is_some_and(|id| id.as_str() == "java")
    })
    .await;
    // Curator does not say what for; the first of ours that waits does.
    let page = Page::of([MutexName::new(&name).unwrap()]);
    let listing = coordinator.list(&page).await.unwrap();
    assert_eq!(listing.entries[0].purpose, Some(Purpose::Service));
    // Curator lists ours with its id.
    curator.tell("list");
    let listed = curator.hear("end");
    assert_eq!(listed, ["participant java leads", "participant rust waits"]);

    let closed = Instant::now();
    curator.tell("close");
    curator.hear("closed");
    // The callback comes after the fact.
    until("ours leads", || led.lock().unwrap().is_some()).await;
    let took = led.lock().unwrap().unwrap().duration_since(closed);
    eprintln!("from Curator to ours: {took:?}");

    // Back: ours goes, Curator leads.
    curator.tell("start");
    until("Curator waits", || {
        curator.tell("list");
        curator.hear("end").len() == 2
    })
    .await;
    curator.tell("list");
    let listed = curator.hear("end");
    assert_eq!(listed, ["participant rust leads", "participant java waits"]);
    let stopping = Instant::now();
    service.stop().await.unwrap();
    curator.hear("leader");
    eprintln!("from ours to Curator: {:?}", stopping.elapsed());

    // Killed, it leads until its session has expired.
    service.start().unwrap();
    let killed = Instant::now();
    drop(curator);
    until("ours leads again", || service.is_owner()).await;
    let took = killed.elapsed();
    eprintln!("after the death of Curator's: {took:?}");
    coordinator.close().await.unwrap();
}

/// Whether ours leads within a while in which it should not.
async fn leads_beside(service: &ContendService<LocalContender>) -> bool {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        if service.is_owner() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_shared_as_curator_writes_it_or_not_used_at_all() {
    let shared = coordinator(SERVER.address(), "4s").await;
    let alone = format!("zookeeper://{}?names=encoded", SERVER.address());
    let alone = Coordinator::connect(&alone).await.unwrap();
    for name in ["50%", "a%2Fb", "a b%20", "a/b"].map(|end| format!("{}-{end}", name("p"))) {
        let path = format!("/simba/{name}");
        let mut curator = Curator::start(&path, "java", Duration::from_secs(4));
        curator.tell("start");
        curator.hear("leader");
        let contender = LocalContender::new(&name).unwrap();
        let service = shared.contend_service(contender).unwrap();
        if name.contains('/') {
            // Never by another path than Curator's.
            let error = shared.lock(&name).unwrap().try_acquire().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("names=encoded"), "{error}");
            // By one's own word, and then it is told.
            let guard = alone.lock(&name).unwrap().acquire().await.unwrap();
            let doctor = client(SERVER.address(), "?names=encoded").await.unwrap();
            let found = doctor.check().await;
            doctor.close().await.unwrap();
            let found = found.iter().find(|f| f.subject == "names").unwrap();
            assert_eq!(found.severity, Severity::Bad, "{found:?}");
            assert!(found.detail.contains(&path), "{found:?}");
            guard.release().await.unwrap();
            continue;
        }
        service.start().unwrap();
        assert!(!leads_beside(&service).await, "two own {name:?}");
        let owner = service.state().after;
        assert_eq!(owner.owner_id().unwrap().as_str(), "java");
        curator.tell("close");
        curator.hear("closed");
        until("ours leads", || service.is_owner()).await;
        service.stop().await.unwrap();
    }
    shared.close().await.unwrap();
    alone.close().await.unwrap();
}

/// Curator's latch does not look at its own node again: after a revocation two
/// believe to lead. A listing says so beforehand.
#[tokio::test(flavor = "multi_thread")]
async fn that_a_curator_goes_on_after_a_revocation_is_known_before() {
    let name = name("revoked");
    let coordinator = coordinator(SERVER.address(), "4s").await;
    let page = tenure::backend::Page::of([tenure::model::MutexName::new(&name).unwrap()]);
    let guard = coordinator.lock(&name).unwrap().acquire().await.unwrap();
    let listing = coordinator.list(&page).await.unwrap();
    assert!(!listing.entries[0].owner_goes_on, "ours learns of it");
    guard.release().await.unwrap();

    let mut curator = Curator::start(&format!("/simba/{name}"), "java", Duration::from_secs(4));
    curator.tell("start");
    curator.hear("leader");
    let listing = coordinator.list(&page).await.unwrap();
    assert!(listing.entries[0].owner_goes_on, "{:?}", listing.entries);
    let revoked = coordinator.revoke(&name, listing.entries[0].token).await;
    assert!(revoked.unwrap().is_freed());
    let guard = coordinator.lock(&name).unwrap().acquire().await.unwrap();
    curator.tell("list");
    let listed = curator.hear("end");
    assert!(
        !listed.iter().any(|line| line == "not leader"),
        "it would be better if it noticed: then this needs no word any more: {listed:?}"
    );
    drop(guard);
    coordinator.close().await.unwrap();
}
