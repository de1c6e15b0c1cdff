//! By which names a server may be called.
//!
//! A page of another origin can have its own name lead to this host, and would
//! then be allowed to read the answers: the browser sees one origin. The `Host`
//! gives it away.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The names of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerNames {
    reach: Reach,
    /// Those that it was told to have, without a port.
    others: Vec<String>,
}

/// Who can come, and so which names are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only this host: `localhost` and the loopback's addresses.
    ThisHost,
    /// Others, without a password: addresses, which no other site can have.
    Addresses,
    /// Others, who must know a password, which another site's page does not: any.
    Anywhere,
}

impl ServerNames {
    pub(crate) fn new(reach: Reach, others: &[String]) -> Self {
        let others = others.iter().map(|name| name.to_ascii_lowercase());
        let others = others.collect();
        Self { reach, others }
    }

    pub(crate) fn has(&self, host: &str) -> bool {
        let name = HostName::read(host);
        match name {
            _ if self.reach == Reach::Anywhere => true,
            None => false,
            Some(HostName::Name(name)) => {
                let name = name.to_ascii_lowercase();
                name == "localhost" || self.others.contains(&name)
            }
            Some(HostName::Address(address)) => {
                self.reach == Reach::Addresses
                    || address.is_loopback()
                    || self.others.contains(&address.to_string())
            }
        }
    }
}

/// A `Host` without its port.
#[derive(Clone, Copy, Debug)]
enum HostName<'a> {
    Address(IpAddr),
    Name(&'a str),
}

impl<'a> HostName<'a> {
    fn read(host: &'a str) -> Option<Self> {
        if let Some(rest) = host.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
            let address = address.parse::<Ipv6Addr>().ok()?;
            return is_port.then_some(Self::Address(address.into()));
        }
        let (name, port) = host.split_once(':').unwrap_or((host, "1"));
        if !is_number(port) {
            return None;
        }
        let address = name.parse::<Ipv4Addr>();
        Some(address.map_or(Self::Name(name), |address| Self::Address(address.into())))
    }
}

/// Whether a `Host` can only mean this host: an address of the loopback, or
/// `localhost`, and a port or none.
///
/// ```
/// use tenure_dashboard::host::is_this_host;
///
/// assert!(is_this_host("localhost:4080") && is_this_host("[::1]"));
/// assert!(!is_this_host("[::1].evil.example"));
/// ```
#[must_use]
pub fn is_this_host(host: &str) -> bool {
    ServerNames::new(Reach::ThisHost, &[]).has(host)
}

fn is_number(port: &str) -> bool {
    port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_is_this_host() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "LocalHost",
            "127.0.0.1:4080",
            "127.9.9.9",
            "[::1]:1",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:65535",
        ] {
            assert!(is_this_host(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example:4080",
            "localhost.",
            "a.localhost",
            "127.0.0.1.evil",
            "127.0.0.1.",
            "127.1",
            "0x7f000001",
            "2130706433",
            "10.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::1].evil.example",
            "[::1].evil.example:80",
            "[::1]evil",
            "[::1]:",
            "[::1]:80.evil.example",
            "[::1",
            "::1",
            "[127.0.0.1]",
            "[::1%25lo]",
            "localhost:",
            "localhost:80.evil",
            "localhost:+80",
            "localhost:70000",
            "localhost:80:80",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost, evil.example",
            "localhost evil.example",
            "127.0.0.1/evil.example",
        ] {
            assert!(!is_this_host(host), "{host}");
        }
    }

    #[test]
    fn others_may_come_by_addresses_and_the_names_that_were_given() {
        let given = ["Dash.example".to_owned(), "10.0.0.9".to_owned()];
        let local = ServerNames::new(Reach::ThisHost, &given);
        let open = ServerNames::new(Reach::Addresses, &given);
        for host in ["dash.EXAMPLE:443", "localhost", "10.0.0.9:80", "127.0.0.1"] {
            assert!(local.has(host) && open.has(host), "{host}");
        }
        for host in ["10.0.0.1:4080", "[2001:db8::1]", "0.0.0.0"] {
            assert!(!local.has(host) && open.has(host), "{host}");
        }
        for host in [
            "evil.example",
            "dash.example.evil",
            "x@10.0.0.1",
            "10.0.0.1.nip.io",
        ] {
            assert!(!local.has(host) && !open.has(host), "{host}");
        }
        assert!(ServerNames::new(Reach::Anywhere, &[]).has("evil.example"));
    }
}
