//! Under which names a server that only this host can reach is called.
//!
//! A page of another origin can have its own name lead to this host, and would
//! then be allowed to read the answers: the browser sees one origin. The `Host`
//! gives it away.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::http::{Request, Response};

/// The refusal of a request that was not meant for this host, if the server
/// listens on the loopback only.
#[must_use]
pub fn misdirected(request: &Request, is_local: bool) -> Option<Response> {
    // No browser leaves it out.
    let host = request.host.as_deref()?;
    (is_local && !is_this_host(host)).then(|| {
        let text = "this server answers only to localhost and the loopback's addresses\n";
        Response::text("421 Misdirected Request", text)
    })
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
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let address = address.parse::<Ipv6Addr>();
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
        return is_port && address.is_ok_and(|address| address.is_loopback());
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "1"));
    let address = name.parse::<Ipv4Addr>();
    let is_ours = name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback());
    is_ours && is_number(port)
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
}
