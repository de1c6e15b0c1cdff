//! What the options of Redis say.

use std::fmt;
use std::time::Duration;

use redis::{ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates};

use super::client::Redis;
use super::keys::USUAL_PREFIX;
use super::words::{BESIDE_HOSTS, FOREIGN};
use crate::backend::url::{HostPort, Options, StoreUrl, brief};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::model::LeaseTerms;
use crate::stores::StoreOptions;
use crate::stores::kit::Source;

/// Connects to what `options` name.
pub(crate) async fn open(options: &StoreOptions, clock: Clock) -> Result<Redis> {
    Redis::connect(Config::parse(options)?, clock).await
}

/// Everything a client needs to know. Its `Debug` shows no secrets.
#[derive(Clone)]
pub(super) struct Config {
    /// The URL's scheme.
    pub(super) scheme: &'static str,
    pub(super) topology: Topology,
    pub(super) login: Login,
    pub(super) sentinel_login: Login,
    /// In place of the login's, asked for before every connection.
    pub(super) password: Option<Source<String>>,
    pub(super) tls: Option<TlsCertificates>,
    /// How the application connects, with its TLS and TCP settings.
    pub(super) own: Option<ConnectionInfo>,
    /// What the names of keys and channels begin with.
    pub(super) prefix: String,
    /// How long a freed mutex is kept for the waiter that was told.
    pub(super) reserve: Duration,
    /// How many replicas must have a grant before it counts.
    pub(super) wait_replicas: u32,
    /// A restarted server grants nothing before it has been up for one lease.
    pub(super) restart_grace: bool,
    /// What is kept from a lease for clocks that differ.
    pub(super) margin: Duration,
    /// How long a connection may be silent when it is asked whether it lives.
    pub(super) probe_limit: Duration,
}

/// Which servers there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    Single(Address),
    Sentinel {
        sentinels: Vec<Address>,
        master: String,
    },
    Cluster(Vec<Address>),
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Address {
    Tcp(String, u16),
    Unix(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => f.write_str(path),
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: u32,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("topology", &self.topology)
            .field("user", &self.login.user)
            .field("db", &self.login.db)
            .field("tls", &self.scheme.starts_with("rediss"))
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// Every scheme of this store.
pub(super) const SCHEMES: [&str; 7] = [
    "redis",
    "rediss",
    "redis+unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
];

impl Config {
    pub(super) fn parse(all: &StoreOptions) -> Result<Self> {
        let url = all.url()?;
        let known = SCHEMES.iter().find(|scheme| **scheme == url.scheme());
        let scheme = *known.ok_or_else(|| Error::invalid("not a Redis URL"))?;
        let (transport, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        let mut options = url.options();
        options.translate(FOREIGN)?;
        let unix = kind == "unix";
        if !unix {
            options.translate(BESIDE_HOSTS)?;
        }
        let terms = options.terms()?.unwrap_or_default();
        let login = if unix {
            unix_login(url, &mut options)?
        } else {
            Login {
                user: url.user().map(str::to_owned),
                password: url.password().map(str::to_owned),
                db: path_db(url.path())?,
            }
        };
        let mut sentinel_login = Login::default();
        let topology = match kind {
            "unix" => Topology::Single(Address::Unix(url.path().to_owned())),
            "sentinel" => {
                sentinel_login.user = options.text("sentinel_user");
                sentinel_login.password = options.text("sentinel_password");
                let master = options.text("master").ok_or_else(|| {
                    Error::invalid(
                        "a Sentinel URL names its master, as in \
                         \"redis+sentinel://host:26379/0?master=mymaster\"",
                    )
                })?;
                let sentinels = addresses(url.hosts(), 26_379)?;
                if let Some(twice) = repeated(&sentinels) {
                    return Err(Error::invalid(format!(
                        "the URL lists the sentinel {twice} twice: each has one vote"
                    )));
                }
                Topology::Sentinel { sentinels, master }
            }
            "cluster" => {
                if login.db != 0 {
                    return Err(Error::invalid("a Redis Cluster has database 0 only"));
                }
                Topology::Cluster(addresses(url.hosts(), 6379)?)
            }
            _ => Topology::Single(single(url.hosts())?),
        };
        let config = Self {
            scheme,
            topology,
            login,
            sentinel_login,
            password: all.in_code.password.clone(),
            tls: match &all.in_code.redis {
                Some(own) if transport == "rediss" && !is_tls(own) => {
                    return Err(Error::invalid(
                        "TLS is asked for, but the application's own client connects without:                          give it a rediss:// address",
                    ));
                }
                // The application has said what it trusts: no files are known.
                Some(_) => None,
                None => (transport == "rediss")
                    .then(|| tls(&mut options))
                    .transpose()?,
            },
            own: all.in_code.redis.clone(),
            prefix: prefix(&mut options)?,
            reserve: reserve(&mut options, &terms)?,
            wait_replicas: wait_replicas(&mut options)?,
            restart_grace: options.switch("restart_grace")?.unwrap_or(false),
            margin: terms.margin(),
            probe_limit: (terms.call_timeout() / 2)
                .clamp(Duration::from_millis(250), Duration::from_secs(2)),
        };
        options.finish()?;
        Ok(config)
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.topology, Topology::Cluster(_))
    }
}

/// Whether the application connects over TLS.
pub(super) fn is_tls(own: &ConnectionInfo) -> bool {
    matches!(own.addr(), ConnectionAddr::TcpTls { .. })
}

fn addresses(hosts: &[HostPort], port: u16) -> Result<Vec<Address>> {
    if hosts.is_empty() {
        return Err(Error::invalid(
            "this URL needs hosts, as in \"redis+cluster://10.0.0.1:6379,10.0.0.2:6379\"",
        ));
    }
    let address = |at: &HostPort| Address::Tcp(at.host.clone(), at.port.unwrap_or(port));
    Ok(hosts.iter().map(address).collect())
}

/// One that is listed more than once. Names are equal in any case.
fn repeated(addresses: &[Address]) -> Option<&Address> {
    let same =
        |one: &Address, other: &Address| one.to_string().eq_ignore_ascii_case(&other.to_string());
    let mut all = addresses.iter().enumerate();
    all.find(|(at, one)| addresses[..*at].iter().any(|other| same(one, other)))
        .map(|(_, one)| one)
}

fn single(hosts: &[HostPort]) -> Result<Address> {
    let mut all = addresses(hosts, 6379).map_err(|_| {
        Error::invalid("a Redis URL needs a host, as in \"redis://127.0.0.1:6379\"")
    })?;
    if all.len() > 1 {
        return Err(Error::invalid(
            "redis:// names one server; several are redis+sentinel:// or redis+cluster://",
        ));
    }
    Ok(all.remove(0))
}

fn path_db(path: &str) -> Result<u32> {
    match path.strip_prefix('/').unwrap_or(path) {
        "" => Ok(0),
        number => number.parse().map_err(|_| {
            Error::invalid(format!(
                "the path of a Redis URL is the number of the database, as in \"/0\", not {:?}",
                brief(path)
            ))
        }),
    }
}

fn unix_login(url: &StoreUrl, options: &mut Options) -> Result<Login> {
    if !url.hosts().is_empty() || !url.path().starts_with('/') {
        return Err(Error::invalid(
            "a Unix socket has an absolute path and no host, as in \
             \"redis+unix:/run/redis.sock?db=0\"; user and password are options",
        ));
    }
    let db = options.number("db")?.unwrap_or(0);
    Ok(Login {
        user: options.text("user"),
        password: options.text("password"),
        db: u32::try_from(db).map_err(|_| Error::invalid("no Redis has so many databases"))?,
    })
}

fn prefix(options: &mut Options) -> Result<String> {
    let prefix = options
        .text("prefix")
        .unwrap_or_else(|| USUAL_PREFIX.to_owned());
    let bad = |c: char| c.is_control() || c.is_whitespace() || c == '{' || c == '}';
    if prefix.is_empty() || prefix.len() > 64 || prefix.contains(bad) {
        return Err(Error::invalid(
            "the option \"prefix\" has 1 to 64 bytes without white space or braces, as in \"app:\"",
        ));
    }
    Ok(prefix)
}

fn reserve(options: &mut Options, terms: &LeaseTerms) -> Result<Duration> {
    let reserve = options.duration("reserve")?;
    let reserve = reserve.unwrap_or(Duration::from_millis(250));
    if reserve < Duration::from_millis(10) || reserve >= terms.lease() {
        return Err(Error::invalid(format!(
            "the option \"reserve\" is at least 10ms and shorter than the lease ({:?}), not \
             {reserve:?}",
            terms.lease()
        )));
    }
    Ok(reserve)
}

fn wait_replicas(options: &mut Options) -> Result<u32> {
    let number = options.number("wait_replicas")?.unwrap_or(0);
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= 100)
        .ok_or_else(|| Error::invalid("the option \"wait_replicas\" is at most 100"))
}

fn tls(options: &mut Options) -> Result<TlsCertificates> {
    let mut read = |key: &'static str| -> Result<Option<Vec<u8>>> {
        let Some(path) = options.text(key) else {
            return Ok(None);
        };
        std::fs::read(&path).map(Some).map_err(|error| {
            Error::invalid(format!(
                "the file of the option {key:?} cannot be read: {error}"
            ))
        })
    };
    let root_cert = read("tls_ca")?;
    let client_tls = match (read("tls_cert")?, read("tls_key")?) {
        (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig {
            client_cert,
            client_key,
        }),
        (None, None) => None,
        _ => {
            return Err(Error::invalid(
                "a client certificate needs both options, \"tls_cert\" and \"tls_key\"",
            ));
        }
    };
    Ok(TlsCertificates {
        client_tls,
        root_cert,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Config> {
        Config::parse(&url.parse()?)
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.to_owned(), port)
    }

    #[test]
    fn a_plain_url_has_the_usual_settings() {
        let config = parse("redis://localhost").unwrap();
        assert_eq!(config.topology, Topology::Single(tcp("localhost", 6379)));
        assert_eq!((config.prefix.as_str(), config.login.db), ("simba:", 0));
        assert_eq!(config.reserve, Duration::from_millis(250));
        assert!(config.tls.is_none() && !config.restart_grace && config.wait_replicas == 0);
    }

    #[test]
    fn everything_can_be_said() {
        let config = parse(
            "rediss://app:s3cret@[::1]:7000/3?prefix=app:&reserve=100ms&wait_replicas=2\
             &restart_grace=on&ttl=5s&transition=1s",
        )
        .unwrap();
        assert_eq!(config.topology, Topology::Single(tcp("::1", 7000)));
        assert_eq!(config.login.db, 3);
        assert_eq!(config.login.password.as_deref(), Some("s3cret"));
        assert_eq!((config.wait_replicas, config.restart_grace), (2, true));
        assert!(config.tls.is_some());
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn sentinels_clusters_and_sockets_have_their_own_schemes() {
        let config = parse("redis+sentinel://a,b:26380/1?master=main").unwrap();
        let sentinels = vec![tcp("a", 26_379), tcp("b", 26_380)];
        let master = "main".to_owned();
        assert_eq!(config.topology, Topology::Sentinel { sentinels, master });
        let config = parse("redis+cluster://a:1,b:2").unwrap();
        assert_eq!(
            config.topology,
            Topology::Cluster(vec![tcp("a", 1), tcp("b", 2)])
        );
        let config = parse("redis+unix:/run/redis.sock?db=2&user=u&password=p").unwrap();
        let socket = Address::Unix("/run/redis.sock".to_owned());
        assert_eq!(config.topology, Topology::Single(socket));
        assert_eq!(
            (config.login.db, config.login.user.as_deref()),
            (2, Some("u"))
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_right() {
        for (url, hint) in [
            ("redis:", "needs a host"),
            ("redis://a,b", "redis+cluster://"),
            ("redis://a/db", "number of the database"),
            ("redis://a?prefixx=b", "the known ones are"),
            ("redis://a?prefix=%7B", "without white space or braces"),
            ("redis://a?reserve=1ms", "at least 10ms"),
            ("redis://a?wait_replicas=1000", "at most 100"),
            ("redis+sentinel://a", "master="),
            ("redis+sentinel://a,b,A:26379?master=m", "A:26379 twice"),
            ("redis+cluster://a/1", "database 0 only"),
            ("redis+cluster:", "needs hosts"),
            ("redis+unix:redis.sock", "absolute path"),
            ("rediss://a?tls_ca=/does/not/exist", "tls_ca"),
            ("redis://a?tls_ca=/does/not/exist", "unknown option"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(hint), "{url}: {error}");
        }
    }
}
