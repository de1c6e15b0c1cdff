//! [`RedisOptions`] from what the application connects with, through redis 1.

use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};

use super::config::is_tls;
use super::options::RedisOptions;
use crate::backend::url::HostPort;
use crate::error::{Error, Result};

/// With the application's own way to connect, through redis 1: server, TLS, TCP settings and login
/// are its own, the connections are this store's. `docs/own-connections.md` says what that means.
impl RedisOptions {
    /// Connects as `client` does.
    ///
    /// ```
    /// use tenure::stores::redis::RedisOptions;
    ///
    /// let client = redis::Client::open("redis://app:s3cret@10.0.0.1/2")?;
    /// let options = RedisOptions::from_client(&client).with_prefix("app:");
    /// # tenure::stores::check(&options.into())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_client(client: &Client) -> Self {
        let info = client.get_connection_info();
        let options = match info.addr() {
            ConnectionAddr::Unix(path) => Self::unix(path),
            addr => Self::new(host(addr).unwrap_or_else(|_| HostPort::from(""))),
        };
        options.connecting_as(info).logged_in(info.redis_settings())
    }

    /// Connects to the master that sentinels name, given as a `SentinelClientBuilder` is given
    /// them: where the sentinels are, the name of the master, and how to log in to the servers. The
    /// sentinels' own login is in their connection info. TLS is the same for all.
    ///
    /// ```
    /// use redis::RedisConnectionInfo;
    /// use tenure::stores::redis::RedisOptions;
    ///
    /// let sentinels = ["redis://10.0.0.1:26379", "redis://10.0.0.2:26379", "redis://10.0.0.3:26379"];
    /// let login = RedisConnectionInfo::default().set_username("app").set_password("s3cret");
    /// let options = RedisOptions::from_sentinels(sentinels, "mymaster", &login);
    /// # tenure::stores::check(&options.into())?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn from_sentinels(
        sentinels: impl IntoIterator<Item = impl IntoConnectionInfo>,
        master: impl Into<String>,
        servers: &RedisConnectionInfo,
    ) -> Self {
        match infos(sentinels) {
            Err(error) => Self::failed(error),
            Ok((infos, hosts)) => {
                let sentinel = infos[0].redis_settings();
                let mut options = Self::sentinel(hosts, master).connecting_as(&infos[0]);
                if let Some(user) = sentinel.username() {
                    options = options.with_sentinel_user(user);
                }
                if let Some(password) = sentinel.password() {
                    options = options.with_sentinel_password(password);
                }
                options.logged_in(servers)
            }
        }
    }

    /// Connects to a Redis Cluster with these nodes, given as a `ClusterClientBuilder` is given
    /// them.
    pub fn from_cluster(nodes: impl IntoIterator<Item = impl IntoConnectionInfo>) -> Self {
        match infos(nodes) {
            Err(error) => Self::failed(error),
            Ok((infos, hosts)) => {
                let options = Self::cluster(hosts).connecting_as(&infos[0]);
                options.logged_in(infos[0].redis_settings())
            }
        }
    }

    /// With the TLS and TCP settings of the application.
    fn connecting_as(self, info: &ConnectionInfo) -> Self {
        let mut options = match info.addr() {
            ConnectionAddr::TcpTls { .. } => self.with_tls(),
            _ => self,
        };
        options.options_mut().in_code.redis = Some(info.clone());
        options
    }

    fn logged_in(mut self, login: &RedisConnectionInfo) -> Self {
        if let Some(user) = login.username() {
            self = self.with_user(user);
        }
        if let Some(password) = login.password() {
            self = self.with_password(password);
        }
        match u32::try_from(login.db()) {
            Ok(0) => self,
            Ok(db) => self.with_db(db),
            Err(_) => Self::failed(Error::invalid("no Redis has a database of that number")),
        }
    }

    /// Refused when it is connected with.
    fn failed(error: Error) -> Self {
        let mut options = Self::new("h");
        options.options_mut().change(|_| Err(error));
        options
    }
}

fn host(addr: &ConnectionAddr) -> Result<HostPort> {
    match addr {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok(HostPort::from((host.as_str(), *port)))
        }
        _ => Err(Error::invalid(
            "sentinels and nodes of a cluster have a host and a port",
        )),
    }
}

/// What all of them connect with, and where they are. At least one.
fn infos(
    all: impl IntoIterator<Item = impl IntoConnectionInfo>,
) -> Result<(Vec<ConnectionInfo>, Vec<HostPort>)> {
    let infos: Vec<ConnectionInfo> = all
        .into_iter()
        .map(|one| {
            let info = one.into_connection_info();
            // Not the driver's words: they may repeat what was given.
            info.map_err(|_| Error::invalid("this is no connection info of a Redis server"))
        })
        .collect::<Result<_>>()?;
    let hosts: Vec<HostPort> = infos
        .iter()
        .map(|info| host(info.addr()))
        .collect::<Result<_>>()?;
    let Some(first) = infos.first() else {
        return Err(Error::invalid("give at least one sentinel or node"));
    };
    let same = |one: &ConnectionInfo| {
        let (a, b) = (one.redis_settings(), first.redis_settings());
        let login = (a.username(), a.password(), a.db()) == (b.username(), b.password(), b.db());
        login && is_tls(one) == is_tls(first)
    };
    match infos.iter().all(same) {
        true => Ok((infos, hosts)),
        false => Err(Error::invalid(
            "all sentinels or nodes have the same login, and all of them TLS or none",
        )),
    }
}
