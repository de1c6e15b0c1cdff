//! [`SqliteOptions`]: the options of a SQLite file, set in code.

use std::path::Path;

use crate::stores::StoreOptions;
use crate::stores::kit::Secret;
use crate::stores::typed::{Choice, path_text, typed_options};

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// The system decides when: a crash of the machine may lose the last commits.
    Normal,
    /// At every commit.
    Full,
}

impl Choice for Synchronous {
    const WORDS: &[(&str, Self)] = &[("normal", Self::Normal), ("full", Self::Full)];
}

/// How waiters hear of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// The kernel tells them.
    Inotify,
    /// They look now and then.
    Poll,
}

impl Choice for Wake {
    const WORDS: &[(&str, Self)] = &[("inotify", Self::Inotify), ("poll", Self::Poll)];
}

typed_options! {
    /// The options of a SQLite file, set in code: the same as in a URL, with the same checks, and a
    /// [key](Self::with_key) and [pragmas](Self::with_pragma), which only code can give.
    ///
    /// ```
    /// use tenure::stores::sqlite::{SqliteOptions, Synchronous};
    ///
    /// let options = SqliteOptions::new("/var/lib/app/locks.db")
    ///     .with_mode("0660")
    ///     .with_synchronous(Synchronous::Full)
    ///     .with_pragma("cache_size", "-500");
    /// tenure::stores::check(&options.into())?; // or Coordinator::connect(options).await
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub struct SqliteOptions with lease;
    /// Whether a commit waits for the disk: `synchronous`.
    with_synchronous: choice(Synchronous) = "synchronous";
    /// The permissions of a file that is created, octal as in `"0660"`: `mode`.
    with_mode: text = "mode";
    /// How long to wait for another process's write to end: `busy_timeout`.
    with_busy_timeout: duration = "busy_timeout";
    /// How waiters hear of a release: `wake`.
    with_wake: choice(Wake) = "wake";
}

impl SqliteOptions {
    /// The file at `path`, which is created if it is not there.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let mut options = StoreOptions::without_hosts("sqlite");
        options.change(|url| {
            url.set_path(path_text(path.as_ref())?);
            Ok(())
        });
        Self(options)
    }

    /// The key of an encrypted file, for a program that is built with SQLCipher (the feature
    /// `bundled-sqlcipher` of rusqlite). A passphrase, or a raw key as SQLCipher writes it,
    /// `x'2DD2…'`. It is shown nowhere. Without SQLCipher the file is not opened: it would be
    /// written in clear.
    ///
    /// ```
    /// use tenure::stores::sqlite::SqliteOptions;
    ///
    /// let options = SqliteOptions::new("locks.db").with_key("s3cret");
    /// assert!(!format!("{options:?}").contains("s3cret"));
    /// ```
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.in_code.key = Some(Secret::new(key.into()));
        self
    }

    /// A pragma that is set on every new connection, before the first statement. Those that touch
    /// no promise can be set; the error for any other names them.
    ///
    /// ```
    /// use tenure::stores::sqlite::SqliteOptions;
    ///
    /// let options = SqliteOptions::new("locks.db").with_pragma("journal_mode", "delete");
    /// let error = tenure::stores::check(&options.into()).unwrap_err();
    /// assert!(error.to_string().contains("journal_mode"));
    /// ```
    pub fn with_pragma(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.in_code.pragmas.push((name.into(), value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::typed::tests::every_option_has_its_twin;

    #[test]
    fn every_option_of_the_url_can_be_set_in_code() {
        let made = SqliteOptions::new("/a/b.db");
        every_option_has_its_twin(&["sqlite:/a/b.db"], &made, &[]);
    }
}
