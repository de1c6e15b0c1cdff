//! What a message repeats of a URL.

/// The beginning of `text`: a message of a megabyte is not read.
pub(crate) fn brief(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The one of `known` that `text` is a misspelling of, if there is one.
pub(super) fn nearest<'a>(text: &str, known: &[&'a str]) -> Option<&'a str> {
    const MOST: usize = 40;
    if text.len() > MOST {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let text = plain(text);
    let near = known.iter().map(|key| (distance(&text, key), *key));
    // A third of the letters wrong is another word.
    near.filter(|(far, key)| *far <= 2 && far * 3 < key.len().max(4))
        .min()
        .map(|(_, key)| key)
}

/// How many letters must be added, left out or changed to make one the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = line;
        row[0] = line + 1;
        for (at, wanted) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != *wanted);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_what_was_meant() {
        let known = ["ttl", "transition", "call_timeout", "margin"];
        for (wrong, right) in [
            ("tll", Some("ttl")),
            ("TTL", Some("ttl")),
            ("call-timeout", Some("call_timeout")),
            ("transitions", Some("transition")),
            ("t", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(wrong, &known), right, "{wrong}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(brief("short"), "short");
        assert_eq!(brief(&"é".repeat(1000)), "é".repeat(60) + "…");
    }
}
