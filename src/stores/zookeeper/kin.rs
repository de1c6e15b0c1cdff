//! Whether whoever has connected to us is ourselves.
//!
//! The port of a relay is open to every process of this host, and behind it
//! our client certificate speaks for whoever comes.

use std::io;
use std::net::SocketAddrV4;

/// Whether [`is_own`] can tell.
pub(super) const CAN_TELL: bool = cfg!(target_os = "linux");

/// Whether the connection from `peer` to `local`, both on this host, begins at
/// a socket of this process. True where that cannot be told.
///
/// It reads files: not for a thread of the runtime.
#[cfg(target_os = "linux")]
pub(super) fn is_own(peer: SocketAddrV4, local: SocketAddrV4) -> io::Result<bool> {
    let table = std::fs::read_to_string("/proc/self/net/tcp")?;
    let Some(inode) = inode(&table, peer, local) else {
        return Ok(false);
    };
    let wanted = format!("socket:[{inode}]");
    for file in std::fs::read_dir("/proc/self/fd")? {
        // Files are closed while we look.
        let target = file.and_then(|file| std::fs::read_link(file.path()));
        if target.is_ok_and(|target| target.as_os_str() == wanted.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_own(_: SocketAddrV4, _: SocketAddrV4) -> io::Result<bool> {
    Ok(true)
}

/// The inode of the socket at `from` that is connected to `to`.
#[cfg(target_os = "linux")]
fn inode(table: &str, from: SocketAddrV4, to: SocketAddrV4) -> Option<&str> {
    let shown = |at: SocketAddrV4| {
        let ip = u32::from_ne_bytes(at.ip().octets());
        format!("{ip:08X}:{:04X}", at.port())
    };
    let (from, to) = (shown(from), shown(to));
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_it = fields.next()? == from && fields.next()? == to;
        is_it.then(|| fields.nth(6)).flatten()
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    fn comes_from_us(listener: &TcpListener) -> bool {
        let (stream, peer) = listener.accept().unwrap();
        let (SocketAddr::V4(peer), SocketAddr::V4(local)) = (peer, stream.local_addr().unwrap())
        else {
            panic!("it listens on IPv4");
        };
        is_own(peer, local).unwrap()
    }

    #[test]
    fn another_process_is_told_from_this_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let ours = TcpStream::connect(at).unwrap();
        assert!(comes_from_us(&listener));
        drop(ours);
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -r _", at.port());
        let mut stranger = Command::new("bash")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(!comes_from_us(&listener));
        drop(stranger.stdin.take());
        stranger.wait().unwrap();
    }
}
