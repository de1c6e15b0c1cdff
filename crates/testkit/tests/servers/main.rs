//! The launchers against the real servers, and the proxy.

mod find;
mod mariadb;
mod orphans;
mod postgres;
mod proxy;
mod redis;
mod zookeeper;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tenure_testkit::servers::{Process, wait};

/// How long a server that must not answer is given to do so.
const SILENCE: Duration = Duration::from_millis(300);

/// Whether this process runs; a zombie does not.
fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// Paused, a server must be silent; resumed, it must answer again.
fn pause_silences(server: &Process, asks: impl Fn(Duration) -> io::Result<()>) {
    server.pause().unwrap();
    let error = asks(SILENCE).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        ),
        "{error}"
    );
    server.resume().unwrap();
    wait::until("an answer after the pause", || asks(Duration::from_secs(5))).unwrap();
}

/// Killed, a server must refuse connections.
fn kill_refuses(server: &Process, address: SocketAddr) {
    let pid = server.pid().unwrap();
    server.kill().unwrap();
    assert!(!runs(pid));
    assert_eq!(server.pid(), None);
    let error = TcpStream::connect(address).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

/// Dropped, a server must leave neither process nor directory.
fn drop_removes<S: std::ops::Deref<Target = Process>>(server: S) {
    let pid = server.pid().unwrap();
    let directory = server.directory().to_path_buf();
    assert!(runs(pid) && directory.is_dir());
    drop(server);
    assert!(!runs(pid));
    assert!(!directory.exists());
}
