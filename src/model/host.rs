//! [`Host`]: ids that a person can trace to a machine and a process.

use std::fmt;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chance;
use super::contender::{ContenderId, ContenderIdGenerator};
use crate::error::Result;

/// Ids of the form `{mark}:{pid}@{address}`, such as
/// `r4Tz0bQx:12345@192.168.1.100`; the host name stands in when there is no
/// address.
///
/// Two containers often share a pid and sometimes an address, so each id begins
/// with 8 random letters and digits of its own. With an IPv4 address it fits
/// the 32 characters of old tables. [`Host::from_zero`] counts from zero
/// instead, as JVM Simba does.
///
/// ```
/// use tenure::model::{ContenderIdGenerator, Host};
///
/// let id = Host::new().generate()?;
/// assert!(id.as_str().contains(&format!(":{}@", std::process::id())));
/// assert!(Host::new().unique_per_call());
///
/// let id = Host::from_zero().generate()?;
/// assert!(id.as_str().starts_with(&format!("0:{}@", std::process::id())));
/// assert!(!Host::from_zero().unique_per_call());
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug)]
pub struct Host {
    /// Random marks when there is none.
    counter: Option<AtomicU64>,
}

impl Host {
    /// A random mark for each id.
    #[must_use]
    pub fn new() -> Self {
        Self { counter: None }
    }

    /// Counts from zero. Two processes with the same pid and address make the
    /// same ids, so none is taken for unique.
    #[must_use]
    pub fn from_zero() -> Self {
        Self {
            counter: Some(AtomicU64::new(0)),
        }
    }
}

impl Host {
    /// An id with a random mark, and 128 bits of chance that were drawn with it:
    /// a bid needs both, and each question to the system costs.
    #[inline]
    pub(crate) fn marked(here: chance::Here) -> Result<(ContenderId, u128)> {
        let (pid, address) = (here.process(), address());
        let [bits, more] = chance::bits_twice(here);
        let mark = mark(bits);
        let id = match ending(pid, address) {
            Some(ending) => joined(&mark, ending),
            None => made_of(format_args!("{}:{pid}@{address}", mark.as_str()))?,
        };
        Ok((id, more))
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl ContenderIdGenerator for Host {
    fn generate(&self) -> Result<ContenderId> {
        let Some(counter) = &self.counter else {
            return Self::marked(chance::Here::now()).map(|(id, _)| id);
        };
        let (pid, address) = (std::process::id(), address());
        let number = counter.fetch_add(1, Ordering::Relaxed);
        made_of(format_args!("{number}:{pid}@{address}"))
    }

    fn unique_per_call(&self) -> bool {
        self.counter.is_none()
    }
}

/// How the ids of this process end, written and looked at once for all bids. `None`
/// in a fork of the process that did, which has another pid, and where the id would
/// not be one.
fn ending(pid: u32, address: &str) -> Option<&'static str> {
    static ENDING: OnceLock<(u32, Option<String>)> = OnceLock::new();
    let (of, ending) = ENDING.get_or_init(|| {
        let ending = format!(":{pid}@{address}");
        let is_one = ContenderId::new(format!("{}{ending}", mark(0).as_str())).is_ok();
        (pid, is_one.then_some(ending))
    });
    ending.as_deref().filter(|_| *of == pid)
}

/// The id that begins with `mark`, and ends as is known to be well.
#[inline]
fn joined(mark: &Mark, ending: &str) -> ContenderId {
    let mut bytes = [0; ContenderId::MAX_BYTES];
    let id = &mut bytes[..mark.0.len() + ending.len()];
    let (beginning, rest) = id.split_at_mut(mark.0.len());
    beginning.copy_from_slice(&mark.0);
    rest.copy_from_slice(ending.as_bytes());
    let id = std::str::from_utf8(id).expect("two texts are one");
    ContenderId::known_to_be_one(id)
}

/// The id that `text` says. Written on the stack first: every bid has one made.
fn made_of(text: fmt::Arguments<'_>) -> Result<ContenderId> {
    let mut bytes = [0; ContenderId::MAX_BYTES];
    let mut rest = &mut bytes[..];
    let is_written = rest.write_fmt(text).is_ok();
    let length = ContenderId::MAX_BYTES - rest.len();
    match std::str::from_utf8(&bytes[..length]) {
        Ok(id) if is_written => ContenderId::new(id),
        // Too long: that is said of the whole of it.
        _ => ContenderId::new(text.to_string()),
    }
}

/// 8 letters and digits out of `bits`: 47 bits, beside those of pid and address.
fn mark(bits: u128) -> Mark {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = (bits >> 64) as u64;
    let digit = |_| {
        let digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
        digit
    };
    Mark(std::array::from_fn(digit))
}

/// Letters and digits.
struct Mark([u8; 8]);

impl Mark {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// This machine's address, looked up once: it should not change under the ids
/// of one process.
pub(super) fn address() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| local_ip().map_or_else(host_name, |ip| ip.to_string()))
}

/// The source address that the routing table would choose for the world
/// outside. Connecting a UDP socket sends nothing.
fn local_ip() -> Option<IpAddr> {
    // Documentation addresses: never in use, but routed like the internet.
    let outside: [(IpAddr, IpAddr); 2] = [
        (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(203, 0, 113, 1).into(),
        ),
        (
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        ),
    ];
    outside.into_iter().find_map(|(from, to)| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect(SocketAddr::new(to, 9)).ok()?;
        let ip = socket.local_addr().ok()?.ip();
        (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
    })
}

#[cfg(unix)]
pub(super) fn host_name() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    usable(&name)
}

#[cfg(not(unix))]
pub(super) fn host_name() -> String {
    usable(&std::env::var("COMPUTERNAME").unwrap_or_default())
}

/// The first bytes of a host name that fit into an id beside counter and pid.
fn usable(name: &str) -> String {
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_graphic() && *c != '@')
        .collect();
    if name.is_empty() {
        "localhost".into()
    } else {
        name.chars().take(90).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_once_is_not_taken_for_the_end_of_a_forks_ids() {
        let (pid, address) = (std::process::id(), address());
        let (id, _) = Host::marked(chance::Here::now()).unwrap();
        assert!(id.as_str().ends_with(&format!(":{pid}@{address}")));
        assert_eq!(id, ContenderId::new(id.as_str()).unwrap());
        assert!(ending(pid, address).is_some());
        assert_eq!(ending(pid ^ 1, address), None);
    }

    #[test]
    fn ids_count_up_and_name_the_process() {
        let host = Host::from_zero();
        let pid = std::process::id();
        for number in 0..3 {
            let id = host.generate().unwrap();
            assert_eq!(
                id.as_str().split('@').next().unwrap(),
                format!("{number}:{pid}")
            );
        }
    }

    #[test]
    fn marks_use_every_digit() {
        let marks: String = (0..1000)
            .map(|_| mark(chance::bits()).as_str().to_owned())
            .collect();
        let used: std::collections::BTreeSet<char> = marks.chars().collect();
        assert_eq!((marks.len(), used.len()), (8000, 62));
    }

    #[test]
    fn a_strange_host_name_still_makes_a_valid_id() {
        assert_eq!(usable("a b@@c\n"), "abc");
        assert_eq!(usable(""), "localhost");
        assert!(usable(&"x".repeat(300)).len() <= 90);
    }
}
