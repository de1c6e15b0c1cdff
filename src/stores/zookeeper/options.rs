//! [`ZooKeeperOptions`]: the options of ZooKeeper, set in code.

use super::path::Names;
use crate::backend::url::HostPort;
use crate::stores::StoreOptions;
use crate::stores::typed::{Choice, typed_options};

/// Who may touch the nodes of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acl {
    /// Every client.
    Open,
    /// Who has the same credentials.
    Creator,
}

impl Choice for Acl {
    const WORDS: &[(&str, Self)] = &[("open", Self::Open), ("creator", Self::Creator)];
}

impl Choice for Names {
    const WORDS: &[(&str, Self)] = &[("shared", Self::Shared), ("encoded", Self::Encoded)];
}

typed_options! {
    /// The options of ZooKeeper, set in code: the same as in a URL, with the same checks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::stores::zookeeper::{Acl, ZooKeeperOptions};
    ///
    /// let options = ZooKeeperOptions::new(["zk1", "zk2", "zk3:2182"])
    ///     .with_chroot("/orders")
    ///     .with_user("app")
    ///     .with_password("s3cret")
    ///     .with_acl(Acl::Creator)
    ///     .with_session_timeout(Duration::from_secs(10));
    /// assert!(!format!("{options:?}").contains("s3cret"));
    /// tenure::stores::check(&options.into())?; // or Coordinator::connect(options).await
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub struct ZooKeeperOptions;
    /// How long a session may be silent: `session_timeout`. It decides how long a lease is.
    with_session_timeout: duration = "session_timeout";
    /// Where the mutexes lie, below the chroot: `root`.
    with_root: text = "root";
    /// Who may touch the nodes: `acl`; the creator, if there are credentials.
    with_acl: choice(Acl) = "acl";
    /// How names stand in paths: `names`.
    with_names: choice(Names) = "names";
    /// A PEM file with the authorities that are trusted, over TLS: `tls_ca`.
    with_tls_ca: path = "tls_ca";
    /// A PEM file with the client's certificate, over TLS: `tls_cert`.
    with_tls_cert: path = "tls_cert";
    /// A PEM file with its key, over TLS: `tls_key`.
    with_tls_key: path = "tls_key";
}

impl ZooKeeperOptions {
    /// The servers of an ensemble, each with a port or without.
    pub fn new(servers: impl IntoIterator<Item = impl Into<HostPort>>) -> Self {
        Self(StoreOptions::at("zookeeper", servers))
    }

    /// The port of servers that were given without one; otherwise 2181, over TLS 2281.
    pub fn with_port(mut self, port: u16) -> Self {
        self.0.set_port(port);
        self
    }

    /// Over TLS: `zookeeper+tls://`.
    pub fn with_tls(mut self) -> Self {
        self.0.change(|url| {
            url.set_scheme("zookeeper+tls");
            Ok(())
        });
        self
    }

    /// The path below which everything lies, as in `"/orders"`.
    pub fn with_chroot(mut self, chroot: impl Into<String>) -> Self {
        self.0.change(|url| {
            url.set_path(chroot.into());
            Ok(())
        });
        self
    }

    /// Who logs in, by digest authentication.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.0.set_user(user.into());
        self
    }

    /// The password. It is shown nowhere. What a client makes belongs to the user with this
    /// password, so it is not one that changes by itself, as a token does: who has another may not
    /// touch what is there.
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.0.set_password(password.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::typed::tests::every_option_has_its_twin;

    #[test]
    fn every_option_of_the_urls_can_be_set_in_code() {
        let urls = ["zookeeper://h", "zookeeper+tls://h"];
        every_option_has_its_twin(&urls, &ZooKeeperOptions::new(["h"]), &[]);
    }

    #[test]
    fn the_parts_of_the_url_can_be_set_in_code() {
        let text: StoreOptions = "zookeeper+tls://u:p%2F@a:7,b:2182/x".parse().unwrap();
        let made = ZooKeeperOptions::new(["a", "b:2182"])
            .with_port(7)
            .with_tls()
            .with_chroot("/x")
            .with_user("u")
            .with_password("p/");
        let made = StoreOptions::from(made);
        assert_eq!(text.url().unwrap(), made.url().unwrap());
    }
}
