//! The typed options of a store: its URL, written by code.
//!
//! Each setter writes the word that a URL would have, so the store reads one thing and checks it in
//! one place, whichever way it came.

use std::path::Path;
use std::time::Duration;

use super::options::StoreOptions;
use crate::backend::url::{self, StoreUrl};
use crate::error::{Error, Result};

/// A setting that is one of a few words.
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "sqlite",
    feature = "zookeeper"
))]
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// Every value with the word for it in a URL.
    const WORDS: &[(&str, Self)];

    fn word(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        let found = words.find(|(_, value)| *value == self);
        found.expect("every value has a word").0
    }
}

/// The value of `key`, if it is given.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) when it is none of the words.
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "sqlite",
    feature = "zookeeper"
))]
pub(super) fn choice<T: Choice>(
    options: &mut url::Options,
    key: &'static str,
) -> Result<Option<T>> {
    let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let chosen = options.choice(key, &words)?;
    Ok(chosen.map(|index| T::WORDS[index].1))
}

impl StoreOptions {
    /// Of the store `scheme`, which has no hosts or whose hosts the application knows.
    #[cfg(any(
        feature = "redis",
        feature = "sqlite",
        all(feature = "sqlx-0_9", any(feature = "mysql", feature = "postgres"))
    ))]
    pub(super) fn without_hosts(scheme: &str) -> Self {
        Self::from(StoreUrl::of(scheme, Vec::new()))
    }

    pub(super) fn set(&mut self, key: &str, word: String) {
        self.change(|url| {
            url.set_option(key, word);
            Ok(())
        });
    }
}

/// Of stores that are servers.
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
impl StoreOptions {
    /// Of the store `scheme` at `hosts`.
    pub(super) fn at(
        scheme: &str,
        hosts: impl IntoIterator<Item = impl Into<url::HostPort>>,
    ) -> Self {
        let hosts = hosts.into_iter().map(Into::into).collect();
        let mut options = Self::from(StoreUrl::of(scheme, hosts));
        options.change(|url| url.check_hosts());
        options
    }

    pub(super) fn set_user(&mut self, user: String) {
        self.change(|url| {
            url.set_user(user);
            Ok(())
        });
    }

    pub(super) fn set_password(&mut self, password: String) {
        self.change(|url| {
            url.set_password(password);
            Ok(())
        });
    }

    pub(super) fn set_port(&mut self, port: u16) {
        self.change(|url| match url.hosts() {
            [] => Err(Error::invalid("there is no host that could have a port")),
            _ => {
                url.set_port(port);
                url.check_hosts()
            }
        });
    }

    /// Paths are text in a URL, and so in what is shown of them.
    pub(super) fn set_path_option(&mut self, key: &str, path: &Path) {
        self.change(|url| {
            url.set_option(key, path_text(path)?);
            Ok(())
        });
    }
}

pub(super) fn path_text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::invalid("a path of a store's options is UTF-8"))
}

/// As a URL has it. What it cannot say, the store refuses with the name of the option.
pub(super) fn duration_word(length: Duration) -> String {
    match u64::try_from(length.as_millis()) {
        Ok(millis) if Duration::from_millis(millis) == length => format!("{millis}ms"),
        _ => format!("{length:?}"),
    }
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
pub(super) fn switch_word(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// The options of a store: a type, and a setter for each option of its URL. `with lease` are those
/// of stores where the application says how long a lease is.
macro_rules! typed_options {
    (
        $(#[$doc:meta])*
        pub struct $name:ident with lease;
        $($more:tt)*
    ) => {
        $crate::stores::typed::typed_options! {
            $(#[$doc])*
            pub struct $name;
            /// How long an owner rests before it renews: `ttl`.
            with_ttl: duration = "ttl";
            /// How long renewals may fail before ownership ends: `transition`.
            with_transition: duration = "transition";
            /// How long a call may take: `call_timeout`.
            with_call_timeout: duration = "call_timeout";
            /// What is kept from a lease for clocks that differ: `margin`.
            with_margin: duration = "margin";
            $($more)*
        }
    };
    (
        $(#[$doc:meta])*
        pub struct $name:ident;
        $( $(#[$about:meta])* $setter:ident: $kind:ident $(($choice:ty))? = $key:literal; )*
    ) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use]
        pub struct $name($crate::stores::options::StoreOptions);

        impl $name {
            $( $crate::stores::typed::setter! {
                $(#[$about])* $setter $kind $(($choice))? $key
            } )*
        }

        impl From<$name> for $crate::stores::options::StoreOptions {
            fn from(options: $name) -> Self {
                options.0
            }
        }

        /// Without secrets.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0).finish()
            }
        }

        #[cfg(test)]
        impl $crate::stores::typed::tests::Twins for $name {
            fn twins() -> Vec<$crate::stores::typed::tests::Twin<Self>> {
                let mut twins: Vec<$crate::stores::typed::tests::Twin<Self>> = Vec::new();
                $( $crate::stores::typed::twin! { twins $name $setter $kind $(($choice))? $key } )*
                twins
            }
        }
    };
}

/// One setter, by the kind of its option.
macro_rules! setter {
    ($(#[$about:meta])* $setter:ident text $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, value: impl Into<String>) -> Self {
            self.0.set($key, value.into());
            self
        }
    };
    ($(#[$about:meta])* $setter:ident path $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, path: impl AsRef<std::path::Path>) -> Self {
            self.0.set_path_option($key, path.as_ref());
            self
        }
    };
    ($(#[$about:meta])* $setter:ident duration $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, length: std::time::Duration) -> Self {
            self.0.set($key, $crate::stores::typed::duration_word(length));
            self
        }
    };
    ($(#[$about:meta])* $setter:ident number $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, number: u32) -> Self {
            self.0.set($key, number.to_string());
            self
        }
    };
    ($(#[$about:meta])* $setter:ident switch $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, on: bool) -> Self {
            self.0.set($key, $crate::stores::typed::switch_word(on));
            self
        }
    };
    ($(#[$about:meta])* $setter:ident choice($choice:ty) $key:literal) => {
        $(#[$about])*
        pub fn $setter(mut self, choice: $choice) -> Self {
            self.0.set($key, $crate::stores::typed::Choice::word(choice).to_owned());
            self
        }
    };
}

/// What a setter must do, for the tests.
#[cfg(test)]
macro_rules! twin {
    ($twins:ident $name:ident $setter:ident text $key:literal) => {
        $twins.push((
            $key,
            "some-text".to_owned(),
            Box::new(|all: $name| all.$setter("some-text")),
        ));
    };
    ($twins:ident $name:ident $setter:ident path $key:literal) => {
        $twins.push((
            $key,
            "/a/b".to_owned(),
            Box::new(|all: $name| all.$setter("/a/b")),
        ));
    };
    ($twins:ident $name:ident $setter:ident duration $key:literal) => {
        let length = std::time::Duration::from_millis(1500);
        $twins.push((
            $key,
            "1500ms".to_owned(),
            Box::new(move |all: $name| all.$setter(length)),
        ));
    };
    ($twins:ident $name:ident $setter:ident number $key:literal) => {
        $twins.push(($key, "7".to_owned(), Box::new(|all: $name| all.$setter(7))));
    };
    ($twins:ident $name:ident $setter:ident switch $key:literal) => {
        for (word, on) in [("on", true), ("off", false)] {
            $twins.push((
                $key,
                word.to_owned(),
                Box::new(move |all: $name| all.$setter(on)),
            ));
        }
    };
    ($twins:ident $name:ident $setter:ident choice($choice:ty) $key:literal) => {
        for (word, value) in <$choice as $crate::stores::typed::Choice>::WORDS {
            $twins.push((
                $key,
                (*word).to_owned(),
                Box::new(|all: $name| all.$setter(*value)),
            ));
        }
    };
}

#[cfg(test)]
pub(super) use twin;
pub(super) use {setter, typed_options};

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::stores;

    /// An option, a word for it in a URL, and the setter that says the same.
    pub(in crate::stores) type Twin<T> = (&'static str, String, Box<dyn Fn(T) -> T>);

    pub(in crate::stores) trait Twins: Into<StoreOptions> + Sized {
        fn twins() -> Vec<Twin<Self>>;
    }

    /// The options that the store `url` knows, by its own word.
    fn known(url: &str) -> BTreeSet<String> {
        let mark = if url.contains('?') { '&' } else { '?' };
        let options: StoreOptions = format!("{url}{mark}no_such_option=1").parse().unwrap();
        let error = stores::check(&options).unwrap_err().to_string();
        let (_, known) = error.split_once("the known ones are: ").expect(&error);
        known.split(", ").map(str::to_owned).collect()
    }

    /// Every option that one of `urls` may have has a setter that makes the same URL of it, and
    /// there is no other setter. `made` is the first URL; `by_hand` are options that have another
    /// way in, with a test of its own.
    pub(in crate::stores) fn every_option_has_its_twin<T: Twins + Clone>(
        urls: &[&str],
        made: &T,
        by_hand: &[&str],
    ) {
        let known: BTreeSet<String> = urls.iter().flat_map(|url| known(url)).collect();
        let mut settable: BTreeSet<String> = by_hand.iter().map(|key| (*key).to_owned()).collect();
        for (key, word, set) in T::twins() {
            let text = StoreOptions::from(format!("{}?{key}={word}", urls[0]));
            let made: StoreOptions = set(made.clone()).into();
            assert_eq!(text.url().unwrap(), made.url().unwrap(), "{key}");
            settable.insert(key.to_owned());
        }
        assert_eq!(settable, known, "the setters, and what the URLs know");
    }

    #[test]
    fn lengths_are_written_as_they_are_or_refused() {
        assert_eq!(duration_word(Duration::from_secs(5)), "5000ms");
        let odd = duration_word(Duration::from_micros(1500));
        assert!(crate::backend::url::parse_duration(&odd).is_err(), "{odd}");
    }
}
