//! [`RedisOptions`]: the options of Redis, set in code.

use std::path::Path;

use crate::backend::url::HostPort;
use crate::error::Error;
use crate::stores::StoreOptions;
use crate::stores::kit::Source;
use crate::stores::typed::{path_text, typed_options};

typed_options! {
    /// The options of Redis, set in code: the same as in a URL, with the same checks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::stores::redis::RedisOptions;
    ///
    /// let options = RedisOptions::new("10.0.0.1:6380")
    ///     .with_user("app")
    ///     .with_password("s3cret")
    ///     .with_tls()
    ///     .with_prefix("app:")
    ///     .with_ttl(Duration::from_secs(5));
    /// assert!(!format!("{options:?}").contains("s3cret"));
    /// tenure::stores::check(&options.into())?; // or Coordinator::connect(options).await
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub struct RedisOptions with lease;
    /// What the names of keys and channels begin with: `prefix`.
    with_prefix: text = "prefix";
    /// How long a freed mutex is kept for the waiter that was told: `reserve`.
    with_reserve: duration = "reserve";
    /// How many replicas must have a grant before it counts: `wait_replicas`.
    with_wait_replicas: number = "wait_replicas";
    /// Whether a restarted server grants nothing before it has been up for one lease: `restart_grace`.
    with_restart_grace: switch = "restart_grace";
    /// A PEM file with the authorities that are trusted, over TLS: `tls_ca`.
    with_tls_ca: path = "tls_ca";
    /// A PEM file with the client's certificate, over TLS: `tls_cert`.
    with_tls_cert: path = "tls_cert";
    /// A PEM file with its key, over TLS: `tls_key`.
    with_tls_key: path = "tls_key";
    /// Who logs in to the sentinels: `sentinel_user`.
    with_sentinel_user: text = "sentinel_user";
    /// The password for the sentinels: `sentinel_password`. It is shown nowhere.
    with_sentinel_password: text = "sentinel_password";
}

impl RedisOptions {
    /// One server at `host`, which may have a port: `redis://`.
    pub fn new(host: impl Into<HostPort>) -> Self {
        Self(StoreOptions::at("redis", [host]))
    }

    /// One server behind a Unix socket: `redis+unix:`.
    pub fn unix(socket: impl AsRef<Path>) -> Self {
        let mut options = StoreOptions::without_hosts("redis+unix");
        options.change(|url| {
            url.set_path(path_text(socket.as_ref())?);
            Ok(())
        });
        Self(options)
    }

    /// The master that sentinels name: `redis+sentinel://`.
    ///
    /// ```
    /// use tenure::stores::redis::RedisOptions;
    ///
    /// let options = RedisOptions::sentinel(["10.0.0.1", "10.0.0.2", "10.0.0.3:26380"], "mymaster");
    /// tenure::stores::check(&options.into())?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn sentinel(
        sentinels: impl IntoIterator<Item = impl Into<HostPort>>,
        master: impl Into<String>,
    ) -> Self {
        let mut options = StoreOptions::at("redis+sentinel", sentinels);
        options.set("master", master.into());
        Self(options)
    }

    /// A Redis Cluster with some of its nodes: `redis+cluster://`.
    pub fn cluster(nodes: impl IntoIterator<Item = impl Into<HostPort>>) -> Self {
        Self(StoreOptions::at("redis+cluster", nodes))
    }

    /// The port of hosts that were given without one; otherwise 6379, of sentinels 26379.
    pub fn with_port(mut self, port: u16) -> Self {
        self.0.set_port(port);
        self
    }

    /// Over TLS: `rediss://` and its kin.
    pub fn with_tls(mut self) -> Self {
        self.0.change(|url| {
            let secure = match url.scheme() {
                "redis" => "rediss",
                "redis+sentinel" => "rediss+sentinel",
                "redis+cluster" => "rediss+cluster",
                "redis+unix" => return Err(Error::invalid("a Unix socket has no TLS")),
                _ => return Ok(()),
            };
            url.set_scheme(secure);
            Ok(())
        });
        self
    }

    /// Who logs in.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        let user = user.into();
        match self.is_socket() {
            true => self.0.set("user", user),
            false => self.0.set_user(user),
        }
        self
    }

    /// The password. It is shown nowhere.
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        let password = password.into();
        match self.is_socket() {
            true => self.0.set("password", password),
            false => self.0.set_password(password),
        }
        self
    }

    /// Asks for the password before every new connection, for one that changes: a token of AWS,
    /// Google or Azure, a secret that is rotated. Connections that stand are not touched. That of
    /// the sentinels is another, [`with_sentinel_password`](Self::with_sentinel_password).
    ///
    /// It has 2 s together with the connecting. What it fails with is told as a store that cannot
    /// be reached, and tried again.
    ///
    /// ```
    /// use tenure::stores::redis::RedisOptions;
    /// # async fn token() -> std::io::Result<String> { Ok("token".to_owned()) }
    ///
    /// let options = RedisOptions::new("10.0.0.1").with_user("app").with_password_from(token);
    /// # tenure::stores::check(&options.into())?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn with_password_from<F, A, E>(mut self, password: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.0.in_code.password = Some(Source::new(password));
        self
    }

    /// The number of the database; otherwise 0.
    pub fn with_db(mut self, db: u32) -> Self {
        match self.is_socket() {
            true => self.0.set("db", db.to_string()),
            false => self.0.change(|url| {
                url.set_path(format!("/{db}"));
                Ok(())
            }),
        }
        self
    }

    #[cfg(feature = "redis-1")]
    pub(super) fn options_mut(&mut self) -> &mut StoreOptions {
        &mut self.0
    }

    fn is_socket(&self) -> bool {
        self.0.url().is_ok_and(|url| url.scheme() == "redis+unix")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::typed::tests::every_option_has_its_twin;

    #[test]
    fn every_option_of_the_urls_can_be_set_in_code() {
        let urls = [
            "redis://h",
            "rediss://h",
            "redis+sentinel://h?master=m",
            "redis+unix:/s",
        ];
        let by_hand = ["db", "master", "password", "user"];
        every_option_has_its_twin(&urls, &RedisOptions::new("h"), &by_hand);
    }

    #[test]
    fn the_parts_of_the_urls_can_be_set_in_code() {
        let full = |options: RedisOptions| options.with_user("u").with_password("p/").with_db(0);
        for (text, made) in [
            ("rediss://u:p%2F@h:7/0", RedisOptions::new("h:7").with_tls()),
            (
                "redis://u:p%2F@[::1]:7/0",
                RedisOptions::new("::1").with_port(7),
            ),
            (
                "redis+unix:/s?user=u&password=p%2F&db=0",
                RedisOptions::unix("/s"),
            ),
            (
                "rediss+sentinel://u:p%2F@a:1,b:2/0?master=m",
                RedisOptions::sentinel([("a", 1), ("b", 2)], "m").with_tls(),
            ),
            (
                "redis+cluster://u:p%2F@a,b:2/0",
                RedisOptions::cluster(["a", "b:2"]),
            ),
        ] {
            let (text, made) = (StoreOptions::from(text), StoreOptions::from(full(made)));
            assert_eq!(text.url().unwrap(), made.url().unwrap());
            crate::stores::check(&made).unwrap();
        }
    }

    #[test]
    fn what_is_no_host_is_refused_without_being_shown() {
        for host in ["", "redis://:s3cret@h", "a b", "h:s3cret", "::z"] {
            let options = StoreOptions::from(RedisOptions::new(host));
            let error = crate::stores::check(&options).unwrap_err().to_string();
            assert!(error.contains("a host is"), "{host}: {error}");
            assert!(!format!("{error}{options:?}").contains("s3cret"), "{error}");
        }
    }
}
