//! Whether the process that has connected to us is this one.
//!
//! The port of a relay is open to every process of this host, and behind it
//! our client certificate speaks for every one that comes. Any of them may come often,
//! so it must cost little to find out: the system is asked for the one
//! connection, not for all, who is another user is sent away without looking at
//! our own files, and these are looked at once for a whole crowd.

use std::io;
use std::net::SocketAddrV4;

/// Whether [`are_own`] can tell.
pub(super) const CAN_TELL: bool = cfg!(target_os = "linux");

/// A connection on this host, as its second end sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) peer: SocketAddrV4,
    pub(super) local: SocketAddrV4,
}

#[cfg(not(target_os = "linux"))]
pub(super) fn are_own(all: &[Ends]) -> Vec<io::Result<bool>> {
    all.iter().map(|_| Ok(true)).collect()
}

#[cfg(target_os = "linux")]
pub(super) use linux::are_own;

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::OnceCell;
    use std::collections::HashSet;

    use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    use rustix::net::{recv, sendto, socket_with};

    use super::{Ends, SocketAddrV4, io};

    /// Whose a socket is.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Socket {
        uid: u32,
        inode: u32,
    }

    /// For each connection whether it begins at a socket of this process. An
    /// error means that it could not be told.
    ///
    /// It may read files: not for a thread of the runtime.
    pub(in super::super) fn are_own(all: &[Ends]) -> Vec<io::Result<bool>> {
        // Looked at after all of them were made: what is not there is not ours.
        let ours = OnceCell::new();
        let is_own = |ends: &Ends| {
            let found = find(ends)?;
            // One that has gone again belongs to none.
            let me = rustix::process::geteuid().as_raw();
            let Some(socket) = found.filter(|socket| socket.uid == me) else {
                return Ok(false);
            };
            match ours.get_or_init(own_sockets) {
                Ok(ours) => Ok(ours.contains(&socket.inode)),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            }
        };
        all.iter().map(is_own).collect()
    }

    fn find(&Ends { peer, local }: &Ends) -> io::Result<Option<Socket>> {
        // Where the system does not answer for one, it is found among all.
        diagnosed(peer, local).or_else(|_| {
            let table = std::fs::read_to_string("/proc/self/net/tcp")?;
            Ok(listed(&table, peer, local))
        })
    }

    /// The numbers of all sockets that this process has.
    fn own_sockets() -> io::Result<HashSet<u32>> {
        let mut sockets = HashSet::new();
        for file in std::fs::read_dir("/proc/self/fd")? {
            // Files are closed while we look.
            let Ok(target) = file.and_then(|file| std::fs::read_link(file.path())) else {
                continue;
            };
            let inode = target.to_str().and_then(|target| {
                let number = target.strip_prefix("socket:[")?.strip_suffix(']')?;
                number.parse::<u32>().ok()
            });
            sockets.extend(inode);
        }
        Ok(sockets)
    }

    /// The lengths of a message's head, of the question and of the answer.
    const HEAD: usize = 16;
    const QUESTION: usize = 56;
    const ANSWER: usize = 72;

    /// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST`, `NLMSG_ERROR`, `-ENOENT`.
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const ERROR: u16 = 2;
    const NO_ENTRY: i32 = -2;

    /// The socket at `from` that is connected to `to`, by the system's word.
    pub(super) fn diagnosed(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Option<Socket>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            flags,
            Some(SOCK_DIAG),
        )?;
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&socket, &question(from, to), SendFlags::empty(), &kernel)?;
        // The answer is there when the question has been sent.
        let mut buffer = [0; 512];
        let (_, length) = recv(&socket, &mut buffer, RecvFlags::empty())?;
        answer(&buffer[..length.min(buffer.len())])
    }

    /// A `nlmsghdr` and an `inet_diag_req_v2` for one connection.
    fn question(from: SocketAddrV4, to: SocketAddrV4) -> [u8; HEAD + QUESTION] {
        let mut bytes = [0; HEAD + QUESTION];
        let length = u32::try_from(bytes.len()).unwrap_or(0);
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &length.to_ne_bytes());
        put(4, &BY_FAMILY.to_ne_bytes());
        put(6, &REQUEST.to_ne_bytes());
        // AF_INET, IPPROTO_TCP, in any state.
        put(HEAD, &[2, 6, 0, 0]);
        put(HEAD + 4, &u32::MAX.to_ne_bytes());
        put(HEAD + 8, &from.port().to_be_bytes());
        put(HEAD + 10, &to.port().to_be_bytes());
        put(HEAD + 12, &from.ip().octets());
        put(HEAD + 28, &to.ip().octets());
        // Of any interface, with any cookie.
        put(HEAD + 48, &[0xff; 8]);
        bytes
    }

    /// What a `nlmsghdr` with an `inet_diag_msg` or an error says.
    fn answer(bytes: &[u8]) -> io::Result<Option<Socket>> {
        let number = |at: usize| {
            let field = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(field))
        };
        let odd = || io::Error::other("the system's answer about a connection is not one");
        let kind = number(4).ok_or_else(odd)? & 0xffff;
        if kind == u32::from(ERROR) {
            let code = number(HEAD).ok_or_else(odd)?.cast_signed();
            return match code {
                NO_ENTRY => Ok(None),
                _ => Err(io::Error::from_raw_os_error(code.saturating_neg())),
            };
        }
        if kind != u32::from(BY_FAMILY) || bytes.len() < HEAD + ANSWER {
            return Err(odd());
        }
        let (uid, inode) = (number(HEAD + 64), number(HEAD + 68));
        let (uid, inode) = (uid.ok_or_else(odd)?, inode.ok_or_else(odd)?);
        Ok(Some(Socket { uid, inode }))
    }

    /// The same, from the table of all connections.
    pub(super) fn listed(table: &str, from: SocketAddrV4, to: SocketAddrV4) -> Option<Socket> {
        let shown = |at: SocketAddrV4| {
            let ip = u32::from_ne_bytes(at.ip().octets());
            format!("{ip:08X}:{:04X}", at.port())
        };
        let (from, to) = (shown(from), shown(to));
        table.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            if fields.next()? != from || fields.next()? != to {
                return None;
            }
            let uid = fields.nth(4)?.parse().ok()?;
            let inode = fields.nth(1)?.parse().ok()?;
            Some(Socket { uid, inode })
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    fn accept(listener: &TcpListener) -> (TcpStream, Ends) {
        let (stream, peer) = listener.accept().unwrap();
        let (SocketAddr::V4(peer), SocketAddr::V4(local)) = (peer, stream.local_addr().unwrap())
        else {
            panic!("it listens on IPv4");
        };
        (stream, Ends { peer, local })
    }

    fn told(all: &[Ends]) -> Vec<bool> {
        are_own(all).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn another_process_is_told_from_this_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let ours = TcpStream::connect(at).unwrap();
        let (_first, own) = accept(&listener);
        // By either way.
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let diagnosed = linux::diagnosed(own.peer, own.local).unwrap();
        assert_eq!(diagnosed, linux::listed(&table, own.peer, own.local));
        assert!(diagnosed.is_some());
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -r _", at.port());
        let mut stranger = Command::new("bash")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (_second, theirs) = accept(&listener);
        assert_eq!(told(&[theirs, own, theirs]), [false, true, false]);
        drop(stranger.stdin.take());
        stranger.wait().unwrap();
        drop(ours);
    }

    #[test]
    fn a_connection_that_is_not_there_is_nobodys() {
        let at = |port| SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
        assert_eq!(linux::diagnosed(at(1), at(2)).unwrap(), None);
        let (peer, local) = (at(1), at(2));
        assert_eq!(told(&[Ends { peer, local }]), [false]);
    }
}
