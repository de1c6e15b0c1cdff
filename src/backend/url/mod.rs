//! The URLs that open stores: parsed strictly, printed without secrets.
//!
//! `scheme://user:password@host:port,host:port/path?key=value&key=value`, or
//! `scheme:path?key=value` for a store without hosts. User, password, path and
//! values may be percent-encoded. Durations have a unit: `10s`, `500ms`, `2m`.
//! An unknown key is an error that lists the known ones; nothing is ignored.

mod duration;
mod options;
mod parse;
mod scheme;

use std::collections::BTreeMap;
use std::fmt;

pub use duration::parse_duration;
pub use options::Options;
pub use scheme::Scheme;

use crate::error::Result;

/// One `host:port` of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A name or an address, IPv6 without its brackets.
    pub host: String,
    /// The port, if one was given.
    pub port: Option<u16>,
}

/// A parsed store URL. Its `Debug` and `Display` show no password.
///
/// ```
/// use tenure::backend::url::StoreUrl;
///
/// let url: StoreUrl = "redis://app:s3cret@10.0.0.1:6379/0?ttl=10s".parse()?;
/// assert_eq!(url.hosts()[0].port, Some(6379));
/// assert_eq!(url.to_string(), "redis://app:***@10.0.0.1:6379/0?ttl=10s");
///
/// let mut options = url.options();
/// assert_eq!(options.duration("ttl")?.unwrap().as_secs(), 10);
/// options.finish()?; // an error here had there been any other key
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: String,
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<HostPort>,
    path: String,
    options: BTreeMap<String, String>,
}

impl StoreUrl {
    /// Parses `text`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), saying what would be right and
    /// never repeating the part that could hold a password.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text)
    }

    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user, decoded.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password, decoded. Never print it.
    #[must_use]
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The hosts, in the order given; empty for a store without hosts.
    #[must_use]
    pub fn hosts(&self) -> &[HostPort] {
        &self.hosts
    }

    /// The path, decoded. After hosts it begins with `/` or is empty.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The options, to be taken one by one.
    #[must_use]
    pub fn options(&self) -> Options {
        Options::new(self.options.clone())
    }
}

impl std::str::FromStr for StoreUrl {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        if !self.hosts.is_empty() {
            f.write_str("//")?;
            match (&self.user, &self.password) {
                (Some(user), None) => write!(f, "{user}@")?,
                (user, Some(_)) => write!(f, "{}:***@", user.as_deref().unwrap_or(""))?,
                (None, None) => {}
            }
            for (index, HostPort { host, port }) in self.hosts.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let (open, close) = if host.contains(':') {
                    ("[", "]")
                } else {
                    ("", "")
                };
                write!(f, "{comma}{open}{host}{close}")?;
                if let Some(port) = port {
                    write!(f, ":{port}")?;
                }
            }
        }
        f.write_str(&self.path)?;
        for (index, (key, value)) in self.options.iter().enumerate() {
            let value = if options::is_secret(key) {
                "***"
            } else {
                value
            };
            write!(f, "{}{key}={value}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}
