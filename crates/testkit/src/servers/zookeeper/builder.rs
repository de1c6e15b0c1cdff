//! Options of a ZooKeeper server.

use super::node::ZooKeeper;
use crate::servers::certificates::Certificates;
use crate::servers::error::ServerError;
use crate::servers::extras::Extras;
use crate::servers::port::Port;

/// Options of a [`ZooKeeper`] server.
#[derive(Clone, Debug, Default)]
pub struct ZooKeeperBuilder {
    pub(super) extras: Extras,
    tls: bool,
}

impl ZooKeeperBuilder {
    /// Adds a line to the configuration; in its value `{dir}` stands for the directory of the
    /// data.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.extras.arguments.push(format!("{key}={value}"));
        self
    }

    /// Listens with TLS as well, and takes only clients that `certificates` signed.
    pub fn tls(mut self, certificates: &Certificates) -> Self {
        let read = |name: &str| certificates.read(name);
        let identity = [read("server.crt"), read("server.key")].concat();
        let files = [("server.pem", identity), ("ca.pem", read("ca.crt"))];
        let files = files.map(|(name, file)| (name.to_owned(), file));
        self.extras.files.extend(files);
        self.tls = true;
        let factory = "org.apache.zookeeper.server.NettyServerCnxnFactory";
        self.set("serverCnxnFactory", factory)
            .set("ssl.keyStore.location", "{dir}/server.pem")
            .set("ssl.keyStore.type", "PEM")
            .set("ssl.trustStore.location", "{dir}/ca.pem")
            .set("ssl.trustStore.type", "PEM")
            .set("ssl.clientAuth", "need")
    }

    /// Gives it clocks that can be set, the monotonic one among them, by which it counts sessions:
    /// [`Process::set_clock`](crate::servers::Process::set_clock).
    pub fn own_clock(mut self) -> Result<Self, ServerError> {
        self.extras.all_clocks()?;
        Ok(self)
    }

    /// Gives it a disk that can be filled:
    /// [`Process::fill_disk`](crate::servers::Process::fill_disk).
    pub fn own_disk(mut self) -> Result<Self, ServerError> {
        self.extras.own_disk()?;
        Ok(self)
    }

    /// Starts a server that is alone.
    pub fn start(self) -> Result<ZooKeeper, ServerError> {
        Port::start(|port| {
            let mut extras = self.extras.clone();
            let tls = self.tls.then(Port::choose).transpose()?;
            if let Some(tls) = &tls {
                let listening = [
                    format!("secureClientPort={}", tls.number()),
                    "secureClientPortAddress=127.0.0.1".to_owned(),
                ];
                extras.arguments.extend(listening);
            }
            ZooKeeper::alone(port, tls, extras)
        })
    }
}
