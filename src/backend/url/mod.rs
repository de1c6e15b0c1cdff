//! The URLs that open stores: parsed strictly, printed without secrets.
//!
//! `scheme://user:password@host:port,host:port/path?key=value&key=value`, or
//! `scheme:path?key=value` for a store without hosts. User, password, path and
//! values may be percent-encoded; an `@` after the hosts must be. Durations have
//! a unit: `10s`, `500ms`, `2m`.
//! An unknown key is an error that lists the known ones; nothing is ignored.

mod brief;
mod duration;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod foreign;
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite",
    feature = "zookeeper"
))]
mod made;
mod options;
mod parse;
mod scheme;

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) use brief::brief;
pub use duration::parse_duration;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
pub(crate) use foreign::{Foreign, Meaning};
pub use options::Options;
pub use scheme::Scheme;

use crate::error::Result;

/// One `host:port` of a URL. Also made from text, as in `"10.0.0.1:6379"`, `"db"` or
/// `"[::1]:5432"`, and from a name with a port, as in `("db", 5432)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HostPort {
    /// A name or an address, IPv6 without its brackets.
    pub host: String,
    /// The port, if one was given.
    pub port: Option<u16>,
}

/// A parsed store URL. Its `Debug` and `Display` show no password, and of the
/// options only the values of those that stores know.
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
#[derive(Clone, PartialEq, Eq, Hash)]
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

    /// Whether it holds what must not be shown: a password, or the value of an
    /// option that is a secret or that no store knows.
    ///
    /// ```
    /// use tenure::backend::url::StoreUrl;
    ///
    /// assert!(StoreUrl::parse("redis://app:s3cret@10.0.0.1")?.holds_secret());
    /// assert!(!StoreUrl::parse("redis://10.0.0.1?ttl=10s")?.holds_secret());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn holds_secret(&self) -> bool {
        self.password.is_some() || self.options.keys().any(|key| options::is_secret(key))
    }

    /// `redis://word@host`: Redis has no user without a password, so that word
    /// is most likely the password, with its colon forgotten.
    fn has_lone_secret(&self) -> bool {
        self.scheme.starts_with("redis") && self.user.is_some() && self.password.is_none()
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

/// What is printed encoded in a user or an option's key.
const IN_WORD: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What is printed encoded in a path or an option's value.
const IN_TEXT: &AsciiSet = &IN_WORD.remove(b'/').remove(b':').remove(b',').remove(b'+');

/// A URL without secrets parses again to what it was.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |word| utf8_percent_encode(word, IN_WORD);
        let text = |text| utf8_percent_encode(text, IN_TEXT);
        write!(f, "{}:", self.scheme)?;
        if self.hosts.is_empty() {
            // A path that begins like hosts needs an empty place for them.
            f.write_str(if self.path.starts_with("//") {
                "//"
            } else {
                ""
            })?;
        } else {
            f.write_str("//")?;
            match (&self.user, &self.password) {
                (Some(_), None) if self.has_lone_secret() => f.write_str("***@")?,
                (Some(user), None) => write!(f, "{}@", word(user))?,
                (user, Some(_)) => write!(f, "{}:***@", word(user.as_deref().unwrap_or("")))?,
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
        text(&self.path).fmt(f)?;
        for (index, (key, value)) in self.options.iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            write!(f, "{mark}{}=", word(key))?;
            if options::is_secret(key) {
                f.write_str("***")?;
            } else {
                text(value).fmt(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}
