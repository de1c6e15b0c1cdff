//! The rules that mutex names and contender ids share.

use crate::error::{Error, Result};

/// Checks `text`, which is called `what` in messages, against the rules that
/// every store can keep: not blank, at most `max` bytes, no control
/// characters, no white space at either end (SQL collations ignore it).
pub(super) fn check(what: &str, text: &str, max: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("a {what} must not be blank")));
    }
    if text.len() > max {
        // Only its beginning: a message of a megabyte is not read.
        let beginning: String = text.chars().take(20).collect();
        return Err(Error::invalid(format!(
            "a {what} has at most {max} bytes, this one has {} and begins with {beginning:?}",
            text.len()
        )));
    }
    if text.trim() != text {
        return Err(Error::invalid(format!(
            "a {what} must not begin or end with white space: {text:?}"
        )));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::invalid(format!(
            "a {what} must not contain control characters: {text:?}"
        )));
    }
    Ok(())
}

/// `bytes` as text, with `\xNN` for what is no UTF-8.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// `Display`, `AsRef<str>`, `FromStr`, `TryFrom` and serde for a validated
/// string newtype around `Arc<str>` with a fallible `new`.
macro_rules! text_value {
    ($type:ident) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $type {
            type Error = $crate::error::Error;

            fn try_from(text: &str) -> $crate::error::Result<Self> {
                Self::new(text)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use text_value;
