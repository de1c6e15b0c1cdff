//! What the options of ZooKeeper say.

use std::fmt;
use std::time::Duration;

use super::client::ZooKeeper;
use super::options::Acl;
use super::path::{Names, Paths};
use super::tls::Way;
use crate::backend::url::{StoreUrl, brief};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::stores::StoreOptions;
use crate::stores::typed::choice;

const DEFAULT_PORT: u16 = 2181;
const TLS_PORT: u16 = 2281;

/// How a session is made and where everything lies.
#[derive(Clone)]
pub(super) struct Config {
    /// `host:port,host:port`
    pub(super) hosts: String,
    /// If the connections go over TLS.
    pub(super) tls: Option<Way>,
    /// What the server may shorten or lengthen.
    pub(super) session_timeout: Duration,
    /// `user:password`
    pub(super) digest: Option<String>,
    /// Whether only who has the same credentials may touch our nodes.
    pub(super) creator_only: bool,
    pub(super) paths: Paths,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("hosts", &self.hosts)
            .field("tls", &self.tls.is_some())
            .field("session_timeout", &self.session_timeout)
            .field("latches", &self.paths.latches())
            .finish_non_exhaustive()
    }
}

/// Opens `zookeeper://user:password@host:2181,host:2181/chroot?session_timeout=10s`,
/// or the same over TLS, `zookeeper+tls://host:2281?tls_ca=/etc/ca.pem`.
pub(crate) async fn open(options: &StoreOptions, clock: Clock) -> Result<ZooKeeper> {
    ZooKeeper::connect(Config::from_url(options.url()?)?, clock).await
}

impl Config {
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        if url.hosts().is_empty() {
            return Err(Error::invalid(
                "a ZooKeeper URL names its servers: \
                 zookeeper://host1:2181,host2:2181/chroot?session_timeout=10s",
            ));
        }
        let is_secure = url.scheme() == "zookeeper+tls";
        let usual = if is_secure { TLS_PORT } else { DEFAULT_PORT };
        let servers = url.hosts().iter();
        let servers = servers.map(|at| (at.host.clone(), at.port.unwrap_or(usual)));
        let servers: Vec<_> = servers.collect();
        let shown = servers.iter().map(|(host, port)| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        });
        let hosts = shown.collect::<Vec<_>>().join(",");
        let mut options = url.options();
        let tls = is_secure.then(|| Way::new(&servers, &mut options));
        let session_timeout = options
            .duration("session_timeout")?
            .unwrap_or(Duration::from_secs(10));
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        if session_timeout < Duration::from_millis(100) || session_timeout > longest {
            return Err(Error::invalid(format!(
                "session_timeout must be between 100 ms and 24 days, not {session_timeout:?}"
            )));
        }
        // From a copy: these are not among the known ones.
        for key in ["ttl", "transition", "call_timeout", "margin"] {
            if url.options().text(key).is_some() {
                return Err(Error::invalid(format!(
                    "on ZooKeeper the session decides how long a lease is: give \
                     session_timeout=10s instead of {key}"
                )));
            }
        }
        let digest = match (url.user(), url.password()) {
            (Some(user), Some(password)) => Some(format!("{user}:{password}")),
            (None, None) => None,
            _ => {
                return Err(Error::invalid(
                    "digest authentication needs both: zookeeper://user:password@host",
                ));
            }
        };
        let acl: Option<Acl> = choice(&mut options, "acl")?;
        let creator_only = acl.map_or(digest.is_some(), |acl| acl == Acl::Creator);
        if creator_only && digest.is_none() {
            return Err(Error::invalid(
                "acl=creator needs credentials: zookeeper://user:password@host",
            ));
        }
        let names = choice(&mut options, "names")?.unwrap_or(Names::Shared);
        let root = options.text("root").unwrap_or_else(|| "/simba".to_owned());
        check_path("root", &root)?;
        options.finish()?;
        let chroot = url.path().strip_suffix('/').unwrap_or(url.path());
        if !chroot.is_empty() {
            check_path("chroot", chroot)?;
        }
        Ok(Self {
            hosts,
            tls: tls.transpose()?,
            session_timeout,
            digest,
            creator_only,
            paths: Paths::new(chroot, &root, names),
        })
    }
}

impl Config {
    /// The same for one of the servers alone.
    pub(super) fn at_server(&self, index: usize, host: &str) -> Self {
        let mut config = self.clone();
        config.hosts = host.to_owned();
        if let Some(way) = &mut config.tls {
            way.servers = way.servers.get(index).cloned().into_iter().collect();
        }
        config
    }
}

/// Whether `path` can be a path of ZooKeeper's.
fn check_path(what: &str, path: &str) -> Result<()> {
    let parts = path.strip_prefix('/').map(|path| path.split('/'));
    if parts.is_some_and(|mut parts| parts.all(super::path::is_component)) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the {what} must be a path such as /a/b, not {:?}",
        brief(path)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<Config> {
        Config::from_url(&url.parse().unwrap())
    }

    #[test]
    fn a_url_says_everything() {
        let config =
            config("zookeeper://u:p@a,b:9,[::1]:7/x/y/?session_timeout=4s&root=/r").unwrap();
        assert_eq!(config.hosts, "a:2181,b:9,[::1]:7");
        assert_eq!(config.session_timeout, Duration::from_secs(4));
        assert_eq!(config.paths.latches(), "/x/y/r");
        assert_eq!(config.paths.schedules(), "/x/y/tenure/schedule");
        assert!(config.creator_only);
        assert!(!format!("{config:?}").contains("u:p"));
    }

    #[test]
    fn defaults_are_those_of_simba_and_curator() {
        let config = config("zookeeper://a").unwrap();
        assert_eq!(config.paths.latches(), "/simba");
        assert_eq!(config.session_timeout, Duration::from_secs(10));
        assert!(!config.creator_only && config.digest.is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (url, hint) in [
            ("zookeeper:", "names its servers"),
            ("zookeeper://a?ttl=10s", "session_timeout"),
            ("zookeeper://a?transition=10s", "session_timeout"),
            ("zookeeper://a?session_timeout=1ms", "100 ms"),
            ("zookeeper://a?acl=creator", "credentials"),
            ("zookeeper://u@a", "both"),
            ("zookeeper://a?root=simba", "/a/b"),
            ("zookeeper://a/x//y", "/a/b"),
            (
                "zookeeper://a?colour=red",
                "acl, names, root, session_timeout",
            ),
            ("zookeeper://a?names=plain", "encoded"),
            ("zookeeper://a?tls_ca=/a", "unknown option"),
            ("zookeeper+tls://a?tls_ca=/does/not/exist", "tls_ca"),
            ("zookeeper+tls://a?colour=red", "tls_ca, tls_cert, tls_key"),
        ] {
            let error = config(url).unwrap_err().to_string();
            assert!(error.contains(hint), "{url}: {error}");
        }
    }
}
