//! [`StoreOptions`]: what a store is opened with.

use std::fmt;

use super::code::InCode;
use crate::backend::url::StoreUrl;
use crate::error::{Error, Result};

/// What a store is opened with: a URL, or the options of one store, set in code.
///
/// It is made from text, from a [`StoreUrl`] and from the options of every store, such as
/// `stores::redis::RedisOptions`; what opens a store takes anything that it can be made from.
/// Options are checked where a URL is: when they are connected with, or by
/// [`stores::check`](crate::stores::check). Its `Debug` shows no secrets.
///
/// ```
/// # #[cfg(feature = "redis")]
/// # fn main() -> tenure::Result<()> {
/// use tenure::stores::redis::RedisOptions;
/// use tenure::stores::{self, StoreOptions};
///
/// let text: StoreOptions = "redis://app:s3cret@10.0.0.1/0?prefix=app:".parse()?;
/// let code: StoreOptions = RedisOptions::new("10.0.0.1")
///     .with_user("app")
///     .with_password("s3cret")
///     .with_db(0)
///     .with_prefix("app:")
///     .into();
/// stores::check(&code)?;
/// assert_eq!(format!("{code:?}"), format!("{text:?}"));
/// assert_eq!(format!("{code:?}"), "StoreOptions(redis://app:***@10.0.0.1/0?prefix=app:)");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "redis"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
#[must_use]
pub struct StoreOptions {
    /// An error when what was given is none.
    url: Result<StoreUrl>,
    #[cfg_attr(
        not(any(
            feature = "mysql",
            feature = "postgres",
            feature = "redis",
            feature = "sqlite"
        )),
        expect(dead_code, reason = "a URL can say all that there is")
    )]
    pub(super) in_code: InCode,
}

impl StoreOptions {
    /// The URL, without what only code can say.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when what was given makes none.
    pub(crate) fn url(&self) -> Result<&StoreUrl> {
        self.url.as_ref().map_err(Error::clone)
    }

    /// The URL, if it says all: two of the same text are the same then.
    pub(crate) fn plain_url(&self) -> Option<&StoreUrl> {
        #[cfg(feature = "redis")]
        if self.in_code.password.is_some() || self.in_code.redis.is_some() {
            return None;
        }
        self.url.as_ref().ok()
    }

    /// Changes the URL, if there is one.
    #[cfg(any(
        feature = "mysql",
        feature = "postgres",
        feature = "redis",
        feature = "sqlite",
        feature = "zookeeper"
    ))]
    pub(super) fn change(&mut self, change: impl FnOnce(&mut StoreUrl) -> Result<()>) {
        if let Ok(url) = &mut self.url
            && let Err(error) = change(url)
        {
            self.url = Err(error);
        }
    }
}

impl From<StoreUrl> for StoreOptions {
    fn from(url: StoreUrl) -> Self {
        Self {
            url: Ok(url),
            in_code: InCode::default(),
        }
    }
}

impl From<&StoreUrl> for StoreOptions {
    fn from(url: &StoreUrl) -> Self {
        url.clone().into()
    }
}

/// Text that is no URL is refused when it is connected with.
impl From<&str> for StoreOptions {
    fn from(text: &str) -> Self {
        Self {
            url: StoreUrl::parse(text),
            in_code: InCode::default(),
        }
    }
}

impl From<String> for StoreOptions {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for StoreOptions {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&StoreOptions> for StoreOptions {
    fn from(options: &StoreOptions) -> Self {
        options.clone()
    }
}

impl std::str::FromStr for StoreOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        StoreUrl::parse(text).map(Self::from)
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.url {
            Ok(url) => write!(f, "StoreOptions({url})"),
            Err(_) => f.write_str("StoreOptions(not valid)"),
        }
    }
}
