//! What a `sqlite:` URL says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::client::{self, Sqlite};
use crate::backend::url::StoreUrl;
use crate::error::{Error, Result};

/// How the file is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) path: PathBuf,
    /// Whether a commit waits for the disk.
    pub(super) full: bool,
    /// The permissions of a file that is created.
    pub(super) mode: u32,
    /// How long to wait for another process's write to end.
    pub(super) busy_timeout: Duration,
    /// Look at the wake file now and then instead of being told.
    pub(super) poll: bool,
}

/// Opens the file that `url` names.
pub(crate) async fn open(url: &StoreUrl) -> Result<Sqlite> {
    client::connect(Config::from_url(url)?).await
}

/// Whether `url` is one of this store's.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid), naming what is known.
pub(crate) fn check(url: &StoreUrl) -> Result<()> {
    Config::from_url(url).map(drop)
}

impl Config {
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        if !url.hosts().is_empty() || url.user().is_some() {
            return Err(Error::invalid(
                "the SQLite store has no host: write \"sqlite:relative/path\" or \
                 \"sqlite:/absolute/path\"",
            ));
        }
        let mut options = url.options();
        options.terms()?;
        let synchronous = options.choice("synchronous", &["normal", "full"])?;
        let mode = options.text("mode");
        let busy_timeout = options.duration("busy_timeout")?;
        let wake = options.choice("wake", &["inotify", "poll"])?;
        options.finish()?;
        Ok(Self {
            path: path(url.path())?,
            full: synchronous == Some(1),
            mode: mode.as_deref().map_or(Ok(0o600), parse_mode)?,
            busy_timeout: busy_timeout.unwrap_or(Duration::from_secs(1)),
            poll: wake == Some(1),
        })
    }
}

fn path(text: &str) -> Result<PathBuf> {
    if text.contains(":memory:") || text.starts_with("file:") {
        return Err(Error::invalid(
            "the SQLite store is a file that other processes can open; for a store in this \
             process's memory write \"memory:\"",
        ));
    }
    if text.is_empty() || text.ends_with('/') || Path::new(text).file_name().is_none() {
        return Err(Error::invalid(
            "the SQLite store needs the path of a file, as in \"sqlite:locks.db\" or \
             \"sqlite:/var/lib/app/locks.db\"",
        ));
    }
    if text.contains('\0') {
        return Err(Error::invalid("a path has no NUL character"));
    }
    Ok(PathBuf::from(text))
}

fn parse_mode(text: &str) -> Result<u32> {
    let digits = (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| digits && mode & 0o600 == 0o600 && mode & !0o666 == 0)
        .ok_or_else(|| {
            Error::invalid(format!(
                "the option \"mode\" is octal and lets the owner read and write, as in 0600 or \
                 0660, not {text:?}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config> {
        Config::from_url(&StoreUrl::parse(text)?)
    }

    #[test]
    fn a_path_is_enough() {
        let usual = Config {
            path: "a/b.db".into(),
            full: false,
            mode: 0o600,
            busy_timeout: Duration::from_secs(1),
            poll: false,
        };
        assert_eq!(config("sqlite:a/b.db").unwrap(), usual);
        for text in ["sqlite:/a/b.db", "sqlite:///a/b.db"] {
            let absolute = Config {
                path: "/a/b.db".into(),
                ..usual.clone()
            };
            assert_eq!(config(text).unwrap(), absolute);
        }
    }

    #[test]
    fn options_are_read() {
        let url = "sqlite:x?synchronous=full&mode=0660&busy_timeout=300ms&wake=poll&ttl=5s";
        let read = config(url).unwrap();
        assert!(read.full && read.poll && read.mode == 0o660);
        assert_eq!(read.busy_timeout, Duration::from_millis(300));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (url, words) in [
            ("sqlite:", "sqlite:locks.db"),
            ("sqlite:dir/", "path of a file"),
            ("sqlite:..", "path of a file"),
            ("sqlite::memory:", "\"memory:\""),
            ("sqlite:file:x?mode=memory", "\"memory:\""),
            ("sqlite://relative/path", "sqlite:relative/path"),
            ("sqlite:x?mode=rw", "0600"),
            ("sqlite:x?mode=0400", "0600"),
            ("sqlite:x?mode=0777", "0600"),
            ("sqlite:x?synchronous=off", "normal, full"),
            ("sqlite:x?colour=red", "busy_timeout"),
        ] {
            let error = config(url).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}
