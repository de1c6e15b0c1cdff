//! Where the store's URL comes from, and who gets to know it.
//!
//! A URL with a password is not handed on to the command, unless that was asked
//! for. A `tenure` inside the command that is given no URL would then use the
//! embedded store, where the same name is another lock: two owners. So the
//! command is told that a URL was withheld, and a `tenure` that finds no other
//! refuses.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tenure::backend::url::StoreUrl;

use crate::config::Settings;
use crate::exit::Failure;
use crate::output::Voice;
use crate::supervise::Variable;

pub(crate) const URL: &str = "TENURE_URL";
pub(crate) const URL_FILE: &str = "TENURE_URL_FILE";
/// The URL that the command did not get, without its secrets.
const WITHHELD: &str = "TENURE_URL_WITHHELD";

/// Longer than any URL, and short enough to read from whatever it is.
const LONGEST: u64 = 64 * 1024;

/// Where a URL was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Arguments,
    Environment,
    File(PathBuf),
}

/// The URL that the flags name, else the environment.
pub(crate) fn named(
    url: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<(String, Origin)>, Failure> {
    if let Some(url) = url {
        return Ok(Some((url, Origin::Arguments)));
    }
    if let Some(file) = file {
        return read(&file).map(Some);
    }
    match (std::env::var_os(URL), std::env::var_os(URL_FILE)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "{URL} and {URL_FILE} are both set, and only one can be right: unset the other"
        ))),
        (Some(url), None) => match url.into_string() {
            Ok(url) => Ok(Some((url, Origin::Environment))),
            Err(_) => Err(Failure::usage(format!("{URL} is not UTF-8"))),
        },
        (None, Some(file)) if file.is_empty() => Err(Failure::usage(format!(
            "{URL_FILE} is empty: it is the path of a file, or unset"
        ))),
        (None, Some(file)) => read(Path::new(&file)).map(Some),
    }
}

/// The first line of the file, which may be a pipe.
fn read(path: &Path) -> Result<(String, Origin), Failure> {
    let wrong = |why: &str| Failure::usage(format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    if line.len() as u64 > LONGEST {
        return Err(wrong("the first line is too long for a URL"));
    }
    let line = str::from_utf8(line).map_err(|_| wrong("the first line is not UTF-8"))?;
    match line.trim() {
        "" => Err(wrong("the first line must be the URL of a store")),
        url => Ok((url.to_owned(), Origin::File(path.to_owned()))),
    }
}

/// Warns when others can read the password in the URL where it was found.
pub(crate) fn warn_of_readers(url: &str, origin: &Origin, voice: &Voice) {
    if !holds_secret(url) {
        return;
    }
    match origin {
        Origin::Environment => {}
        Origin::Arguments => voice.warn(&format_args!(
            "everybody on this host can read the password in --url in the list of processes: use \
             --url-file or {URL}"
        )),
        Origin::File(path) => {
            let mode = path.metadata().map_or(0, |file| file.permissions().mode());
            // A group is how a secret is shared on purpose.
            if mode & 0o006 != 0 {
                let path = path.display();
                voice.warn(&format_args!(
                    "there is a password in {path}, and everybody may read or change it: chmod 600"
                ));
            }
        }
    }
}

/// A URL was withheld from the command that we are part of: the embedded store
/// would be another one than it means.
pub(crate) fn refuse_if_withheld() -> Result<(), Failure> {
    let Some(withheld) = std::env::var_os(WITHHELD) else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "the tenure around this command, or tenure hold before it, uses {}, and did not hand the \
         URL on because of the password in it: give that tenure --pass-url, or this one a URL of \
         its own with --url-file, {URL_FILE} or --url",
        withheld.display()
    )))
}

/// What the command is told of the store's URL.
pub(crate) fn handed_on(settings: &Settings, pass: bool) -> Vec<Variable> {
    let around = std::env::var_os(URL);
    let has_file = std::env::var_os(URL_FILE).is_some();
    changes(settings.url.as_deref(), around.as_deref(), has_file, pass)
}

/// What a script that holds a lock is told of the store's URL: the same, but
/// what it names itself is its own.
pub(crate) fn told_to_script(settings: &Settings) -> Vec<(&'static str, String)> {
    if [URL, URL_FILE]
        .map(std::env::var_os)
        .iter()
        .any(Option::is_some)
    {
        return Vec::new();
    }
    let told = handed_on(settings, false).into_iter();
    told.filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// `used` is the URL in force; `around` and `has_file` are what the environment
/// has, and the command would get.
fn changes(
    used: Option<&str>,
    around: Option<&OsStr>,
    has_file: bool,
    pass: bool,
) -> Vec<Variable> {
    let around = around.map(|url| url.to_str().unwrap_or_default());
    match (used, around) {
        (Some(used), _) if pass => vec![
            (URL, Some(absolute(used))),
            (URL_FILE, None),
            (WITHHELD, None),
        ],
        // What the environment names is left, so that a flag for this program
        // does not change what the command means by it.
        (_, Some(url)) if holds_secret(url) => vec![(URL, None), (WITHHELD, Some(shown(url)))],
        (_, Some(_)) => Vec::new(),
        (_, None) if has_file => Vec::new(),
        (Some(used), None) if holds_secret(used) => vec![(WITHHELD, Some(shown(used)))],
        (Some(used), None) => vec![(URL, Some(absolute(used)))],
        (None, None) => Vec::new(),
    }
}

/// Whether there may be a secret in it: also when it cannot be made out.
fn holds_secret(url: &str) -> bool {
    StoreUrl::parse(url).map_or(true, |url| url.holds_secret())
}

fn shown(url: &str) -> String {
    StoreUrl::parse(url).map_or_else(|_| "another store".to_owned(), |url| url.to_string())
}

/// The same file for a command that goes to another directory.
fn absolute(url: &str) -> String {
    let is_relative = |url: &StoreUrl| url.scheme() == "sqlite" && !url.path().starts_with('/');
    let Some(parsed) = StoreUrl::parse(url).ok().filter(is_relative) else {
        return url.to_owned();
    };
    let options = url.find('?').map_or("", |at| &url[at..]);
    let whole = std::path::absolute(parsed.path()).ok();
    match whole.and_then(|path| crate::store::url_of(&path).ok()) {
        Some(place) => place + options,
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "redis://u:s3cret@h";

    fn told(
        used: Option<&str>,
        around: Option<&str>,
        has_file: bool,
    ) -> Vec<(&'static str, String)> {
        changes(used, around.map(OsStr::new), has_file, false)
            .into_iter()
            .map(|(name, value)| (name, value.unwrap_or_else(|| "-".into())))
            .collect()
    }

    #[test]
    fn what_has_a_password_is_withheld() {
        let withheld = (WITHHELD, "redis://u:***@h".to_owned());
        let removed = (URL, "-".to_owned());
        assert_eq!(
            told(Some(SECRET), None, false),
            std::slice::from_ref(&withheld)
        );
        assert_eq!(
            told(Some(SECRET), Some(SECRET), false),
            [removed.clone(), withheld.clone()]
        );
        assert_eq!(
            told(Some("sqlite:/x"), Some(SECRET), false),
            [removed.clone(), withheld]
        );
        let nonsense = (WITHHELD, "another store".to_owned());
        assert_eq!(told(None, Some("u:s3cret@h"), false), [removed, nonsense]);
    }

    #[test]
    fn what_has_none_reaches_the_command() {
        assert_eq!(told(None, None, false), []);
        assert_eq!(told(Some("redis://h"), Some("redis://h"), false), []);
        assert_eq!(
            told(Some("redis://h"), None, false),
            [(URL, "redis://h".to_owned())]
        );
        assert_eq!(
            told(Some(SECRET), None, true),
            [],
            "it can read the file itself"
        );
        let here = std::env::current_dir().unwrap();
        let whole = format!("sqlite:{}?mode=0600", here.join("a.db").display());
        assert_eq!(
            told(Some("sqlite:a.db?mode=0600"), None, false),
            [(URL, whole)]
        );
    }

    #[test]
    fn asked_to_it_passes_the_url_in_force() {
        let all = changes(Some(SECRET), Some(OsStr::new("redis://other")), true, true);
        let url = (URL, Some(SECRET.to_owned()));
        assert_eq!(all, [url, (URL_FILE, None), (WITHHELD, None)]);
        assert_eq!(changes(None, None, false, true), []);
    }
}
