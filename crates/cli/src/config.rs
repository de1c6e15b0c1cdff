//! What is in force: flags over environment over file.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::backend::url::parse_duration;

use crate::args::Common;
use crate::exit::Failure;
use crate::output::{Format, Voice};
use crate::place::{self, Origin};

/// The settings of one call of the program.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Settings {
    /// `None`: the embedded store.
    pub(crate) url: Option<String>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) transition: Option<Duration>,
    pub(crate) id: Option<String>,
    pub(crate) output: Format,
}

/// The file of `--config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    url: Option<String>,
    ttl: Option<Length>,
    transition: Option<Length>,
    id: Option<String>,
    output: Option<Format>,
}

/// A duration as on the command line.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Length(Duration);

impl TryFrom<String> for Length {
    type Error = tenure::Error;

    fn try_from(text: String) -> Result<Self, tenure::Error> {
        parse_duration(&text).map(Self)
    }
}

/// The flags, and the file if they name one. What can be read only once is
/// read here, or in [`Settings`], and nowhere else.
#[derive(Debug)]
pub(crate) struct Sources {
    common: Common,
    file: File,
}

impl Sources {
    pub(crate) fn read(common: Common) -> Result<Self, Failure> {
        let file = match &common.config {
            Some(path) => read(path)?,
            None => File::default(),
        };
        Ok(Self { common, file })
    }

    /// How data is written, also when something else is wrong.
    pub(crate) fn output(&self) -> Format {
        self.common.output.or(self.file.output).unwrap_or_default()
    }
}

impl Settings {
    /// Puts flags and environment over the file.
    pub(crate) fn gather(sources: Sources, voice: &Voice) -> Result<Self, Failure> {
        let output = sources.output();
        let Sources { common, mut file } = sources;
        let in_file = file.url.take().zip(common.config.clone());
        let in_file = in_file.map(|(url, path)| (url, Origin::File(path)));
        let named = match place::named(common.url, common.url_file)?.or(in_file) {
            Some((url, origin)) => {
                place::warn_of_readers(&url, &origin, voice);
                Some(url)
            }
            None => {
                place::refuse_if_withheld()?;
                None
            }
        };
        Ok(Self {
            url: named,
            ttl: common.ttl.or(file.ttl.map(|length| length.0)),
            transition: common.transition.or(file.transition.map(|length| length.0)),
            id: common.id.or(file.id),
            output,
        })
    }
}

fn read(path: &Path) -> Result<File, Failure> {
    let text = std::fs::File::open(path)
        .and_then(read_text)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    parse(&text).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))
}

/// At most what a person would write: some files have no end.
fn read_text(file: std::fs::File) -> std::io::Result<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(std::io::Error::other(
            "it is larger than a mebibyte, and no file of settings",
        ));
    }
    Ok(text)
}

fn parse(text: &str) -> Result<File, String> {
    // Only the message: the excerpt of a toml error would show the line, and
    // with it a password in the URL.
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_the_flags_say() {
        let file = parse(
            "url = 'sqlite:x.db'\nttl = '3s'\ntransition = '500ms'\nid = 'a'\noutput = 'json'",
        )
        .unwrap();
        assert_eq!(file.url.as_deref(), Some("sqlite:x.db"));
        assert_eq!(file.ttl.unwrap().0, Duration::from_secs(3));
        assert_eq!(file.output, Some(Format::Json));
    }

    #[test]
    fn mistakes_are_named_without_showing_the_line() {
        let error = parse("url = 'redis://:s3cret@h'\ncolour = 'red'").unwrap_err();
        assert!(
            error.contains("colour") && error.contains("transition"),
            "{error}"
        );
        let error = parse("url = redis://:s3cret@h").unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
        let error = parse("ttl = '3'").unwrap_err();
        assert!(error.contains("500ms"), "{error}");
    }
}
