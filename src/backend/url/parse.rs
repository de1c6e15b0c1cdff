//! From text to [`StoreUrl`].

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use super::brief::brief;
use super::{HostPort, StoreUrl};
use crate::error::{Error, Result};

pub(super) fn parse(text: &str) -> Result<StoreUrl> {
    let (scheme, rest) = text.split_once(':').ok_or_else(|| {
        Error::invalid("a store URL begins with a scheme and a colon, as in \"redis://host\"")
    })?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '-';
    if scheme.is_empty() || !scheme.chars().all(good) {
        // Not repeated: with the colon forgotten it could be "user:password@host".
        return Err(Error::invalid(
            "the scheme of a store URL has letters, digits, + and - only",
        ));
    }
    if rest.contains('#') {
        return Err(Error::invalid(
            "a store URL has no '#' part; write a literal # as %23",
        ));
    }
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match before_query.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or((Some(rest), ""), |at| {
            let (authority, path) = rest.split_at(at);
            (Some(authority), path)
        }),
        None => (None, before_query),
    };
    // Else a '/' or '?' in a password would put the rest of it on show.
    if path.contains('@') || query.contains('@') {
        return Err(Error::invalid(
            "in a store URL an '@' stands between password and host only; elsewhere it is \
             written %40, and in a password '/', '?' and '#' are %2F, %3F and %23",
        ));
    }
    let (user, password, hosts) = match authority {
        Some(authority) if !authority.is_empty() => parse_authority(authority)?,
        _ => (None, None, Vec::new()),
    };
    Ok(StoreUrl {
        scheme: scheme.to_ascii_lowercase(),
        user,
        password,
        hosts,
        path: decode("path", path)?,
        options: parse_query(query)?,
    })
}

type Authority = (Option<String>, Option<String>, Vec<HostPort>);

fn parse_authority(authority: &str) -> Result<Authority> {
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, authority),
    };
    let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
        None => (None, None),
        Some((user, password)) => (
            Some(decode("user", user)?).filter(|user| !user.is_empty()),
            Some(decode("password", password)?).filter(|password| !password.is_empty()),
        ),
    };
    let hosts = hosts
        .split(',')
        .map(parse_host)
        .collect::<Result<Vec<_>>>()?;
    Ok((user, password, hosts))
}

pub(super) fn parse_host(text: &str) -> Result<HostPort> {
    let bad = || {
        Error::invalid(
            "a host of a store URL is \"name\", \"name:port\" or \"[ipv6]:port\", several are \
             separated by commas, and special characters in a password are percent-encoded",
        )
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(bad)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| bad())?;
            match port {
                "" => (host, None),
                port => (host, Some(port.strip_prefix(':').ok_or_else(bad)?)),
            }
        }
        None => text
            .split_once(':')
            .map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if !is_host(host) {
        return Err(bad());
    }
    let port = match port {
        None => None,
        Some(port) if !port.bytes().all(|byte| byte.is_ascii_digit()) => return Err(bad()),
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?),
    };
    Ok(HostPort {
        host: host.to_owned(),
        port,
    })
}

/// A name, or an address: IPv6 without its brackets.
pub(super) fn is_host(host: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_address = || !host.contains(':') || host.parse::<std::net::Ipv6Addr>().is_ok();
    !host.is_empty() && host.chars().all(legal) && is_address()
}

fn parse_query(query: &str) -> Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Error::invalid("an option of a store URL is written key=value, joined by &")
        })?;
        let key = decode("option", key)?;
        if options.insert(key.clone(), decode(&key, value)?).is_some() {
            return Err(Error::invalid(format!(
                "the option {:?} is given twice",
                brief(&key)
            )));
        }
    }
    Ok(options)
}

fn decode(what: &str, text: &str) -> Result<String> {
    let bad = || {
        Error::invalid(format!(
            "the {} of a store URL is UTF-8 with special characters percent-encoded, as in %40",
            brief(what)
        ))
    };
    // The decoder lets a stray % pass; a typo in a password must not.
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let digits = rest.get(at + 1..at + 3).ok_or_else(bad)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        rest = &rest[at + 3..];
    }
    Ok(percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| bad())?
        .into_owned())
}
