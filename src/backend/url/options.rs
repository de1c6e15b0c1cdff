//! [`Options`]: the `key=value` pairs, each of which must be asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::parse_duration;
use crate::error::{Error, Result};

/// The options of a URL. A store takes the ones it knows; [`finish`] refuses
/// the URL when one is left over, and lists the keys that were asked for: so
/// the list of known keys can never be out of date.
///
/// [`finish`]: Self::finish
#[derive(Debug)]
pub struct Options {
    left: BTreeMap<String, String>,
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
        parse_duration(&text)
            .map(Some)
            .map_err(|error| Error::invalid(format!("the option {key:?}: {error}")))
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
        number.map(Some).ok_or_else(|| {
            Error::invalid(format!(
                "the option {key:?} takes a whole number, not {text:?}"
            ))
        })
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
            .ok_or_else(|| {
                let choices = choices.join(", ");
                Error::invalid(format!(
                    "the option {key:?} is one of {choices}, not {text:?}"
                ))
            })
    }

    /// The value of `key` as a switch: `on`/`off` or `true`/`false`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is neither.
    pub fn switch(&mut self, key: &'static str) -> Result<Option<bool>> {
        let choice = self.choice(key, &["on", "true", "off", "false"])?;
        Ok(choice.map(|index| index < 2))
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when a key is left that nobody
    /// asked for; its value is not repeated.
    pub fn finish(mut self) -> Result<()> {
        let Some(key) = self.left.keys().next() else {
            return Ok(());
        };
        self.known.sort_unstable();
        let known = self.known.join(", ");
        Err(Error::invalid(format!(
            "unknown option {key:?}; the known ones are: {known}"
        )))
    }
}

/// Whether the value of `key` must not be printed.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["pass", "secret", "auth", "token", "credential"]
        .iter()
        .any(|part| key.contains(part))
}
