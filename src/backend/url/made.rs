//! URLs that code makes instead of text: for the typed options of the stores.

use super::parse::parse_host;
use super::{HostPort, StoreUrl};

impl StoreUrl {
    /// The URL of a store at `hosts`, with nothing else in it yet.
    pub(crate) fn of(scheme: &str, hosts: Vec<HostPort>) -> Self {
        Self {
            scheme: scheme.to_owned(),
            user: None,
            password: None,
            hosts,
            path: String::new(),
            options: std::collections::BTreeMap::new(),
        }
    }

    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub(crate) fn set_scheme(&mut self, scheme: &str) {
        scheme.clone_into(&mut self.scheme);
    }

    pub(crate) fn set_path(&mut self, path: String) {
        self.path = path;
    }

    pub(crate) fn set_option(&mut self, key: &str, value: String) {
        self.options.insert(key.to_owned(), value);
    }
}

/// Of stores that are servers.
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
impl StoreUrl {
    /// Empty is none, as in a text.
    pub(crate) fn set_user(&mut self, user: String) {
        self.user = Some(user).filter(|user| !user.is_empty());
    }

    /// Empty is none, as in a text.
    pub(crate) fn set_password(&mut self, password: String) {
        self.password = Some(password).filter(|password| !password.is_empty());
    }

    /// The port of the hosts that have none.
    pub(crate) fn set_port(&mut self, port: u16) {
        for host in &mut self.hosts {
            host.port.get_or_insert(port);
        }
    }

    /// What the parser refuses in a text.
    pub(crate) fn check_hosts(&self) -> crate::error::Result<()> {
        let good = |at: &HostPort| super::parse::is_host(&at.host) && at.port != Some(0);
        match self.hosts.iter().all(good) {
            true => Ok(()),
            // Not repeated: it may be a URL with a password.
            false => Err(crate::error::Error::invalid(
                "a host is \"name\", \"name:port\", an address or \"[ipv6]:port\", without a \
                 scheme, user or path",
            )),
        }
    }
}

/// Text that is no host is refused when it is connected with.
impl From<&str> for HostPort {
    fn from(text: &str) -> Self {
        let is_bare = text.parse::<std::net::Ipv6Addr>().is_ok();
        let parsed = parse_host(text).ok().filter(|_| !is_bare);
        parsed.unwrap_or_else(|| Self {
            host: text.to_owned(),
            port: None,
        })
    }
}

impl From<String> for HostPort {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for HostPort {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl<H: Into<String>> From<(H, u16)> for HostPort {
    fn from((host, port): (H, u16)) -> Self {
        Self {
            host: host.into(),
            port: Some(port),
        }
    }
}
