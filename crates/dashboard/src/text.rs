//! Text that others wrote, shown so that nothing in it hides or commands.
//!
//! A name, an id or a server's message may hold what a terminal obeys, what
//! turns the order of the letters around, or what cannot be seen: two names
//! that look alike would be two mutexes.

use std::time::SystemTime;

/// Whether `c` is shown as its number: controls, what changes the direction of
/// writing, and what has no width.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with everything [hidden](is_hidden) as an escape.
///
/// ```
/// use tenure_dashboard::text::plain;
///
/// assert_eq!(plain("a\x1b[2J\u{202e}é\n"), r"a\u{1b}[2J\u{202e}é\n");
/// ```
#[must_use]
pub fn plain(text: &str) -> String {
    shown(text, is_hidden)
}

/// The same, but several lines stay several lines.
///
/// ```
/// use tenure_dashboard::text::plain_lines;
///
/// assert_eq!(plain_lines("a\r\nb\n"), "a\\r\nb\n");
/// ```
#[must_use]
pub fn plain_lines(text: &str) -> String {
    shown(text, |c| c != '\n' && is_hidden(c))
}

fn shown(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// JSON that means the same, with everything [hidden](is_hidden) as `\uXXXX`.
///
/// ```
/// use tenure_dashboard::text::plain_json;
///
/// assert_eq!(plain_json("{\"a\":\"\u{202e}\"}"), "{\"a\":\"\\u202e\"}");
/// ```
#[must_use]
pub fn plain_json(json: &str) -> String {
    use std::fmt::Write as _;

    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside of strings JSON has none of these but white space.
        if is_hidden(c) && !matches!(c, '\n' | '\r' | '\t') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A moment of the wall clock, as in `2026-07-01T12:00:00.000Z`; `None` where
/// that has no such form: before 1970, and after the year 9999.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tenure_dashboard::text::stamp;
///
/// let start = SystemTime::UNIX_EPOCH;
/// assert_eq!(stamp(start).unwrap(), "1970-01-01T00:00:00.000Z");
/// assert_eq!(stamp(start - Duration::from_millis(1)), None);
/// ```
#[must_use]
pub fn stamp(at: SystemTime) -> Option<String> {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (since.as_secs() < YEAR_10000).then(|| humantime::format_rfc3339_millis(at).to_string())
}

/// When the year 10000 begins, in seconds since 1970.
const YEAR_10000: u64 = 253_402_300_800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_as_they_are() {
        for text in [
            "order-settlement",
            "Zürich",
            "注文",
            "مرحبا",
            "a b",
            "🔒",
            "\\n",
        ] {
            assert_eq!(plain(text), text);
            assert_eq!(plain_json(text), text);
        }
    }

    #[test]
    fn nothing_hides() {
        for c in "\0\x07\x1b\x7f\u{85}\u{9b}\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\
                  \u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}\r\n\t"
            .chars()
        {
            let shown = plain(&format!("a{c}b"));
            assert!(shown.is_ascii() && shown.contains('\\'), "{c:?}: {shown:?}");
        }
    }

    #[test]
    fn every_moment_has_a_stamp_or_none() {
        use std::time::Duration;
        let start = SystemTime::UNIX_EPOCH;
        let last = start + Duration::from_secs(YEAR_10000) - Duration::from_nanos(1);
        assert_eq!(stamp(last).unwrap(), "9999-12-31T23:59:59.999Z");
        assert_eq!(stamp(last + Duration::from_nanos(1)), None);
        assert_eq!(stamp(start + Duration::from_millis(u64::MAX)), None);
        assert_eq!(stamp(start - Duration::from_secs(1 << 40)), None);
    }

    #[test]
    fn json_means_the_same() {
        let text = "a\u{202e}\u{e0041}\u{9b}\n\u{7f}é";
        let json = plain_json(&serde_json::to_string(text).unwrap());
        assert!(!json.contains(is_hidden), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
