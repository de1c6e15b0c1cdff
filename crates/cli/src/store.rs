//! Which store, and under which terms and name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::model::{ContenderId, ContenderIdGenerator};
use tenure::{Coordinator, CoordinatorBuilder, Retry};

use crate::complaints::Spell;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::Voice;

/// The first and the longest pause between two attempts to reach a store.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// How long a store that refuses us may take to hear that we go.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(1);

/// Opens the store that the settings name.
pub(crate) async fn open(settings: &Settings, voice: &Voice) -> Result<Coordinator, Failure> {
    let (builder, url) = prepare(settings, voice)?;
    Ok(builder.connect(&url).await?)
}

/// The same, for those who run for ever: a store that cannot be reached yet is
/// waited for, unless they would rather fail.
pub(crate) async fn wait_for(
    settings: &Settings,
    fail_fast: bool,
    voice: &Voice,
) -> Result<Coordinator, Failure> {
    let (builder, url) = prepare(settings, voice)?;
    let (mut pause, longest) = PAUSES;
    let mut spell = Spell::default();
    loop {
        let error = match builder.clone().connect(&url).await {
            Ok(coordinator) => {
                if spell.is_over() {
                    voice.warn(&"the store answers");
                }
                return Ok(coordinator);
            }
            Err(error) => error,
        };
        if fail_fast || error.retry() == Retry::Never {
            return Err(error.into());
        }
        if let Some(text) = spell.news(&error) {
            voice.warn(&format_args!("waiting for the store: {text}"));
        }
        // Not all of a fleet at the same moment.
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = (pause * 2).min(longest);
    }
}

/// Closes it. Where waiting cannot help, what could not be told to the store
/// runs out by itself, without us.
pub(crate) async fn close<T>(coordinator: &Coordinator, ended: &Result<T, Failure>) {
    let closing = coordinator.close();
    let _ = match ended {
        Err(failure) if failure.code == exit::CONFIG => {
            tokio::time::timeout(LAST_WORD, closing).await.is_ok()
        }
        _ => closing.await.is_ok(),
    };
}

fn prepare(settings: &Settings, voice: &Voice) -> Result<(CoordinatorBuilder, String), Failure> {
    let url = url(settings)?;
    if let Ok(shown) = tenure::backend::url::StoreUrl::parse(&url) {
        voice.detail(&format_args!("the store is {shown}"));
    }
    let mut builder = Coordinator::builder().watch_wall_clock(watches_wall_clock()?);
    if let Some(id) = &settings.id {
        ContenderId::new(id)?;
        builder = builder.ids(Called(id.clone()));
    }
    Ok((builder, url))
}

/// Whether ownership ends when the wall clock goes ahead.
fn watches_wall_clock() -> Result<bool, Failure> {
    match std::env::var_os("TENURE_WALL_CLOCK") {
        None => Ok(true),
        Some(word) if word == "watch" => Ok(true),
        Some(word) if word == "ignore" => Ok(false),
        Some(word) => Err(Failure::usage(format!(
            "TENURE_WALL_CLOCK is \"watch\" or \"ignore\", not {word:?}"
        ))),
    }
}

/// The URL that the settings name, or that of the embedded store, whose
/// directory is made if it is missing.
pub(crate) fn url(settings: &Settings) -> Result<String, Failure> {
    let url = match &settings.url {
        Some(url) => url.clone(),
        None => embedded()?,
    };
    Ok(with_terms(&url, settings.ttl, settings.transition))
}

/// Ids that begin with what a person called this contender. Each has a number
/// of its own, because two contenders of one name must not pass for one.
#[derive(Debug)]
pub(crate) struct Called(pub(crate) String);

impl ContenderIdGenerator for Called {
    fn generate(&self) -> tenure::Result<ContenderId> {
        ContenderId::new(format!("{}/{:08x}", self.0, fastrand::u32(..)))
    }
}

/// The embedded store of this user, whose directory is made if it is missing.
fn embedded() -> Result<String, Failure> {
    let path = state_file(|name| std::env::var_os(name).map(PathBuf::from)).ok_or_else(|| {
        Failure::usage("there is no home directory for the embedded store: give --url")
    })?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(builder.recursive(true), 0o700);
    builder.create(folder).map_err(|error| {
        Failure::new(
            crate::exit::UNAVAILABLE,
            format!("cannot create {}: {error}", folder.display()),
        )
    })?;
    url_of(&path)
}

fn state_file(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The rules of XDG: a path that is not absolute does not count.
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(home()?.join(".local/state")))?;
    Some(state.join("tenure/tenure.db"))
}

/// The URL of the embedded store in the file `path`.
pub(crate) fn url_of(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| {
        Failure::usage(format!(
            "the path {} is not UTF-8: give --url with another",
            path.display()
        ))
    })?;
    let mut url = String::from("sqlite:");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

/// The URL with these terms in place of its own.
pub(crate) fn with_terms(url: &str, ttl: Option<Duration>, transition: Option<Duration>) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let mut options: Vec<String> = options
        .split('&')
        .filter(|option| !option.is_empty())
        .map(str::to_owned)
        .collect();
    for (key, length) in [("ttl=", ttl), ("transition=", transition)] {
        if let Some(length) = length {
            options.retain(|option| !option.starts_with(key));
            options.push(format!("{key}{}ms", length.as_millis()));
        }
    }
    if options.is_empty() {
        return url.to_owned();
    }
    format!("{place}?{}", options.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(state: &str, home: &str) -> Option<PathBuf> {
        state_file(|name| {
            let value = if name == "HOME" { home } else { state };
            (!value.is_empty()).then(|| value.into())
        })
    }

    #[test]
    fn the_embedded_store_lies_in_the_state_directory() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(found("/s", "/h"), path("/s/tenure/tenure.db"));
        assert_eq!(found("", "/h"), path("/h/.local/state/tenure/tenure.db"));
        assert_eq!(
            found("relative", "/h"),
            path("/h/.local/state/tenure/tenure.db")
        );
        assert_eq!(found("", ""), None);
    }

    #[test]
    fn any_path_can_be_a_url() {
        let url = url_of(Path::new("/a b/ü?%.db")).unwrap();
        let parsed = tenure::backend::url::StoreUrl::parse(&url).unwrap();
        assert_eq!(parsed.path(), "/a b/ü?%.db");
    }

    #[test]
    fn flags_come_before_the_terms_of_the_url() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(with_terms("sqlite:x", None, None), "sqlite:x");
        assert_eq!(with_terms("sqlite:x", second, None), "sqlite:x?ttl=1000ms");
        assert_eq!(
            with_terms("sqlite:x?ttl=9s&mode=0600&transition=2s", second, None),
            "sqlite:x?mode=0600&transition=2s&ttl=1000ms"
        );
    }
}
