//! Inputs that are kept: one file for each target, one input on each line, with whatever
//! is not printed escaped as Rust does it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the inputs of `target` are kept.
#[must_use]
pub fn file(target: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    home.join("corpus").join(format!("{target}.txt"))
}

/// The inputs of `target`.
///
/// # Errors
/// When there is no such file, or a line is no input.
pub fn read(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let text = fs::read_to_string(file(target))?;
    let bad = |line: &str| io::Error::other(format!("{target}: no input: {line}"));
    let lines = text.lines();
    lines
        .map(|line| unescaped(line).ok_or_else(|| bad(line)))
        .collect()
}

/// Writes each input of `target` to a file of its own in `folder`, as a fuzzer wants it.
///
/// # Errors
/// As [`read`], and when a file cannot be written.
pub fn unpack(target: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, input) in read(target)?.into_iter().enumerate() {
        fs::write(folder.join(format!("kept-{number:04}")), input)?;
    }
    Ok(())
}

/// Keeps the inputs of `target` that a fuzzer has left in `folder`.
///
/// # Errors
/// When a file cannot be read or written.
pub fn pack(target: &str, folder: &Path) -> io::Result<()> {
    let mut inputs = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        inputs.insert(fs::read(entry?.path())?);
    }
    let mut inputs: Vec<_> = inputs.into_iter().collect();
    inputs.sort_by_key(Vec::len);
    let lines = inputs
        .iter()
        .map(|input| format!("{}\n", input.escape_ascii()));
    fs::write(file(target), lines.collect::<String>())
}

/// What `escape_ascii` was given.
fn unescaped(line: &str) -> Option<Vec<u8>> {
    let mut bytes = line.bytes();
    let mut input = Vec::new();
    while let Some(byte) = bytes.next() {
        input.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                other => other,
            },
            byte => byte,
        });
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_as_it_was_written() {
        let all: Vec<u8> = (0..=255).collect();
        let line = all.escape_ascii().to_string();
        assert_eq!(unescaped(&line), Some(all));
        assert_eq!(unescaped("\\x1"), None);
    }
}
