//! [`MutexName`]: what is being owned.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::text;
use crate::error::{Error, Result};

/// The name of a mutex: what a lock, a leader or a schedule is about.
///
/// At most 66 bytes (the width of the shared SQL column), no control
/// characters, no white space at either end, and not beginning with `}`
/// (Redis Cluster would see an empty hash tag and scatter the mutex's keys).
/// Names are compared byte by byte on every store. Any other text becomes a
/// name by [`hashed`](Self::hashed). One that was [found](Self::found) in a
/// store may break these rules.
///
/// ```
/// use tenure::model::MutexName;
///
/// assert_eq!(MutexName::new("order-settlement")?.as_str(), "order-settlement");
/// let error = MutexName::new(" padded").unwrap_err();
/// assert!(error.to_string().contains("white space"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone)]
pub struct MutexName(Kept);

/// In as much room as the text alone needs: every part of a contention has its
/// name.
#[derive(Clone)]
enum Kept {
    Text(Arc<str>),
    /// As it is shown, and as the store has it.
    Bytes(Arc<(Box<str>, Box<[u8]>)>),
}

impl MutexName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 66;

    /// Checks and keeps `name`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), with the rule that was broken.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        match check(name) {
            Ok(()) => Ok(Self(Kept::Text(name.into()))),
            Err(error) if name.len() > Self::MAX_BYTES => Err(Error::invalid(format!(
                "{error}; MutexName::hashed makes a name of any text"
            ))),
            Err(error) => Err(error),
        }
    }

    /// A name for any text, however long it is and whatever it holds: a
    /// readable beginning and a hash of the whole, the same in every process
    /// and valid on every store. Two texts have two names, also when one is
    /// the beginning of the other; a text never has the name that
    /// [`new`](Self::new) would give it.
    ///
    /// ```
    /// use tenure::model::MutexName;
    ///
    /// let path = "/srv/uploads/2026/11/customer 4711/invoices and receipts.pdf";
    /// let name = MutexName::hashed(path);
    /// assert_eq!(
    ///     name.as_str(),
    ///     "-srv-uploads-2026-11-customer-471-cc085f13d5e97b7656a869b0a95222ce"
    /// );
    /// # assert_ne!(name, MutexName::hashed(format!("{path}.bak")));
    /// ```
    ///
    /// The rule, for peers in other languages. Replace every character by `-`
    /// that is not an ASCII letter or digit, one of `.`, `_`, `:` and `-`, or in
    /// U+00C0–024F, U+0370–052F, U+3041–30FF, U+4E00–9FFF or U+AC00–D7A3. Of
    /// the result take the first characters that fit into 33 bytes of UTF-8.
    /// Then follow `-` and the first 32 digits of the SHA-256 of the text (as
    /// it was, in UTF-8), in lower-case hexadecimal.
    #[must_use]
    pub fn hashed(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let mut name = String::with_capacity(Self::MAX_BYTES);
        for character in text.chars().map(readable) {
            if name.len() + character.len_utf8() > HASHED_BEGINNING {
                break;
            }
            name.push(character);
        }
        name.push('-');
        for byte in &hmac_sha256::Hash::hash(text.as_bytes())[..HASHED_BYTES] {
            name.push_str(&format!("{byte:02x}"));
        }
        Self(Kept::Text(name.into()))
    }

    /// A name as a store has it, also one that [`new`](Self::new) refuses:
    /// peers in other languages and people at a database's prompt can make
    /// such names. Listings show them and a revocation takes them; no
    /// contender can have them. Bytes that are no UTF-8 are shown as `\xNN`.
    ///
    /// ```
    /// use tenure::model::MutexName;
    ///
    /// assert_eq!(MutexName::found("fine").fault(), None);
    /// let padded = MutexName::found(" padded");
    /// assert!(padded.fault().unwrap().contains("white space"));
    /// assert_eq!(MutexName::found(b"a\xff").as_str(), r"a\xff");
    /// ```
    #[must_use]
    pub fn found(name: impl AsRef<[u8]>) -> Self {
        let bytes = name.as_ref();
        match std::str::from_utf8(bytes) {
            Ok(text) => Self(Kept::Text(text.into())),
            Err(_) => Self::shown_as(&text::shown(bytes), bytes),
        }
    }

    /// Something that lies where names lie and is none, shown as `shown`. No
    /// name has the bytes `raw`.
    #[cfg(feature = "zookeeper")]
    pub(crate) fn stray(shown: &str, raw: &[u8]) -> Self {
        Self::shown_as(shown, raw)
    }

    fn shown_as(shown: &str, raw: &[u8]) -> Self {
        Self(Kept::Bytes(Arc::new((shown.into(), raw.into()))))
    }

    /// Which rule a [found](Self::found) name breaks; `None` for a name that
    /// can be contended for.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !self.is_text() {
            return Some(format!(
                "a mutex name is UTF-8 text, not {:?}",
                self.as_str()
            ));
        }
        check(self.as_str()).err().map(|error| error.to_string())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kept::Text(text) => text,
            Kept::Bytes(kept) => &kept.0,
        }
    }

    /// Whether the store has it as it is shown.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.0, Kept::Text(_))
    }

    /// The name as the store has it: what names are compared and sorted by.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Text(text) => text.as_bytes(),
            Kept::Bytes(kept) => &kept.1,
        }
    }
}

/// The rules of a name.
fn check(name: &str) -> Result<()> {
    text::check("mutex name", name, MutexName::MAX_BYTES)?;
    if name.starts_with('}') {
        return Err(Error::invalid(format!(
            "a mutex name must not begin with '}}': {name:?}"
        )));
    }
    Ok(())
}

/// How much of a [hashed](MutexName::hashed) name is there to be read, in bytes.
const HASHED_BEGINNING: usize = MutexName::MAX_BYTES - 1 - 2 * HASHED_BYTES;

/// How much of the hash it holds: with 128 bits two texts do not get one name by chance.
const HASHED_BYTES: usize = 16;

/// What every store takes in a name, and people can read. The ranges are written down here because
/// what Unicode calls a letter grows with its version, and a name must not.
fn readable(character: char) -> char {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | ':' | '-' => character,
        // Latin; Greek and Cyrillic; kana; Han; Hangul.
        '\u{c0}'..='\u{24f}'
        | '\u{370}'..='\u{52f}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => character,
        _ => '-',
    }
}

impl PartialEq for MutexName {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for MutexName {}

impl PartialOrd for MutexName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MutexName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for MutexName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

text::text_value!(MutexName);
