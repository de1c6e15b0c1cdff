//! [`Options`]: the `key=value` pairs, each of which must be asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::brief::{brief, nearest};
use super::parse_duration;
use crate::error::{Error, Result};
use crate::model::LeaseTerms;

/// The options of a URL. A store takes the ones it knows; [`finish`] refuses
/// the URL when one is left over, and lists the keys that were asked for: so
/// the list of known keys can never be out of date.
///
/// Its `Debug` shows no values.
///
/// ```
/// use tenure::backend::url::StoreUrl;
///
/// let url: StoreUrl = "memory:?size=3&colour=red".parse()?;
/// let mut options = url.options();
/// assert_eq!(options.number("size")?, Some(3));
/// assert_eq!(options.switch("tls")?, None);
/// let error = options.finish().unwrap_err().to_string();
/// assert_eq!(error, "unknown option \"colour\"; the known ones are: size, tls");
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// [`finish`]: Self::finish
pub struct Options {
    pub(super) left: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Options {
    pub(super) fn new(left: BTreeMap<String, String>) -> Self {
        Self {
            left,
            known: Vec::new(),
        }
    }

    /// The value of `key`, if it is given.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        self.left.remove(key)
    }

    /// The value of `key` as a duration.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is not one.
    pub fn duration(&mut self, key: &'static str) -> Result<Option<Duration>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let wanted = "takes a whole number with ms, s, m or h, as in 500ms or 10s";
        parse_duration(&text)
            .map(Some)
            .map_err(|_| wrong(key, wanted, &text))
    }

    /// The value of `key` as a whole number.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is not one.
    pub fn number(&mut self, key: &'static str) -> Result<Option<u64>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number
            .map(Some)
            .ok_or_else(|| wrong(key, "takes a whole number below 2^64", &text))
    }

    /// The value of `key` as one of `choices`, by its index.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is none of them.
    pub fn choice(&mut self, key: &'static str, choices: &[&str]) -> Result<Option<usize>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        choices
            .iter()
            .position(|choice| *choice == text)
            .map(Some)
            .ok_or_else(|| wrong(key, &format!("is one of {}", choices.join(", ")), &text))
    }

    /// The value of `key` as a switch: `on`/`off` or `true`/`false`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is neither.
    pub fn switch(&mut self, key: &'static str) -> Result<Option<bool>> {
        let choice = self.choice(key, &["on", "true", "off", "false"])?;
        Ok(choice.map(|index| index < 2))
    }

    /// The lease terms that every store's URL may set: `ttl`, `transition`,
    /// `call_timeout`, `margin`. `None` when none of them is given; a length
    /// that is not given is the default's.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when they make no valid terms.
    pub fn terms(&mut self) -> Result<Option<LeaseTerms>> {
        let (ttl, transition) = (self.duration("ttl")?, self.duration("transition")?);
        let (timeout, margin) = (self.duration("call_timeout")?, self.duration("margin")?);
        if [ttl, transition, timeout, margin]
            .iter()
            .all(Option::is_none)
        {
            return Ok(None);
        }
        let usual = LeaseTerms::default();
        let mut terms = LeaseTerms::new(
            ttl.unwrap_or(usual.ttl()),
            transition.unwrap_or(usual.transition()),
        )?;
        if let Some(timeout) = timeout {
            terms = terms.with_call_timeout(timeout)?;
        }
        if let Some(margin) = margin {
            terms = terms.with_margin(margin)?;
        }
        Ok(Some(terms))
    }

    /// Ends the taking of options.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when a key is left that the
    /// store has not asked for; its value is not repeated.
    pub fn finish(mut self) -> Result<()> {
        let Some(key) = self.left.keys().next() else {
            return Ok(());
        };
        self.known.sort_unstable();
        let known = self.known.join(", ");
        let meant = nearest(key, &self.known);
        let meant = meant.map_or_else(String::new, |key| format!("did you mean {key:?}? "));
        let key = brief(key);
        Err(Error::invalid(format!(
            "unknown option {key:?}; {meant}the known ones are: {known}"
        )))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("left", &self.left.keys())
            .field("known", &self.known)
            .finish()
    }
}

/// The error for `key` with a value that is not what is `wanted`.
fn wrong(key: &str, wanted: &str, value: &str) -> Error {
    Error::invalid(if sounds_secret(key) {
        format!("the option {key:?} {wanted}")
    } else {
        format!("the option {key:?} {wanted}, not {:?}", brief(value))
    })
}

/// The options of all stores, and what others call them, whose values are no secrets. The value of any
/// other is not printed: a misspelt `passwrod` holds what `password` would.
const PUBLIC: &[&str] = &[
    "acl",
    "busy_timeout",
    "call_timeout",
    "connections",
    "create",
    "db",
    "margin",
    "master",
    "mode",
    "names",
    "notify",
    "prefix",
    "reserve",
    "restart_grace",
    "root",
    "schedule_table",
    "sentinel_user",
    "session_timeout",
    "socket",
    "ssl-mode",
    "sslMode",
    "sslmode",
    "synchronous",
    "table",
    "target_session_attrs",
    "tls",
    "tls_ca",
    "tls_cert",
    "tls_key",
    "transition",
    "ttl",
    "user",
    "wait_replicas",
    "wake",
];

/// Whether the value of `key` must not be printed.
pub(super) fn is_secret(key: &str) -> bool {
    PUBLIC.binary_search(&key).is_err()
}

/// Whether `key`, which a store has asked for, is called like a secret.
fn sounds_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let parts = ["pass", "pwd", "secret", "auth", "token", "credential"];
    parts.iter().any(|part| key.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_public_can_be_found() {
        assert!(PUBLIC.is_sorted());
        assert!(!is_secret("ttl") && is_secret("password") && is_secret("TTL"));
    }
}
