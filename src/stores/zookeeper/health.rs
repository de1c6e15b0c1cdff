//! What a person should know.

use std::time::Duration;

use futures_util::future::join_all;

use super::client::Store;
use super::error;
use super::path::{self, Names};
use super::session::Session;
use crate::backend::Finding;

/// How many encoded names are looked at.
const NAMES: usize = 256;

impl Store {
    pub(super) async fn check(&self) -> Vec<Finding> {
        let session = match self.session() {
            Ok(session) => session,
            Err(error) => {
                return vec![Finding::bad(
                    "session",
                    error.to_string(),
                    "see whether a majority of the servers is up and reachable from here",
                )];
            }
        };
        let mut findings = Vec::new();
        let sent = self.clock.now();
        let client = session.client();
        match client.sync(self.config.paths.latches()).await {
            Ok(()) => {
                let took = self.clock.now().since(sent);
                let detail = format!("the quorum answered within {took:?}");
                findings.push(Finding::good("quorum", detail));
            }
            Err(error) => findings.push(Finding::bad(
                "quorum",
                error::read(error).to_string(),
                "see whether a majority of the servers is up",
            )),
        }
        let (asked, given) = (self.config.session_timeout, session.timeout());
        findings.push(if asked.abs_diff(given) > Duration::from_millis(1) {
            Finding::warning(
                "session_timeout",
                format!("{asked:?} was asked for, and the servers gave {given:?}"),
                "ask for what minSessionTimeout and maxSessionTimeout of the servers allow",
            )
        } else {
            Finding::good("session_timeout", format!("{given:?}"))
        });
        let latches = self.config.paths.latches();
        match client.get_acl(latches).await {
            Ok((acls, _)) => {
                let open = acls.iter().any(|acl| acl.scheme() == "world");
                findings.push(if open && self.config.creator_only {
                    Finding::warning(
                        "acl",
                        format!("anybody may change {latches}"),
                        "restrict it with setAcl, or give acl=open if that is meant",
                    )
                } else {
                    Finding::good("acl", format!("{latches} can be read"))
                });
            }
            Err(zookeeper_client::Error::NoNode) => {
                let detail = format!("{latches} is made at the first use");
                findings.push(Finding::good("acl", detail));
            }
            Err(error) => findings.push(Finding::bad(
                "acl",
                error::read(error).to_string(),
                "give a user and password that may use these nodes",
            )),
        }
        findings.extend(self.check_names(&session).await);
        findings.extend(self.check_servers(given).await);
        findings
    }

    /// Whether every server gives the session timeout that this one has given:
    /// a session that moves has the other's from then on, and is not told.
    async fn check_servers(&self, given: Duration) -> Option<Finding> {
        let servers: Vec<_> = self.config.hosts.split(',').collect();
        if servers.len() < 2 {
            return None;
        }
        let asked = join_all(servers.iter().enumerate().map(async |(index, server)| {
            let config = self.config.at_server(index, server);
            let made = Session::connect(&config, &self.clock).await;
            (server, made.map(|session| session.timeout()))
        }));
        let (mut silent, mut other) = (Vec::new(), Vec::new());
        for (server, timeout) in asked.await {
            match timeout {
                Ok(timeout) if timeout.abs_diff(given) > Duration::from_millis(1) => {
                    other.push(format!("{server} gives {timeout:?}"));
                }
                Ok(_) => {}
                Err(_) => silent.push((*server).to_owned()),
            }
        }
        if !other.is_empty() {
            return Some(Finding::bad(
                "servers",
                format!(
                    "a session of {given:?} moves to others: {}",
                    other.join(", ")
                ),
                "give all servers the same tickTime, minSessionTimeout and maxSessionTimeout",
            ));
        }
        Some(match silent.is_empty() {
            true => Finding::good("servers", format!("all {} give the same", servers.len())),
            false => Finding::warning(
                "servers",
                format!("no session was made by {}", silent.join(", ")),
                "see whether they are up and reachable from here",
            ),
        })
    }

    /// Whether a mutex lies at two paths: as a name that is encoded, and as one
    /// that is not. Then it has two owners.
    async fn check_names(&self, session: &Session) -> Option<Finding> {
        let latches = self.config.paths.latches();
        let components = self.synced(session, latches).await.ok()?;
        let encoded = components.iter().filter_map(|part| {
            let name = path::decode(part)?;
            (name.as_str() != part).then_some((part, name))
        });
        let mut alone = None;
        for (part, name) in encoded.take(NAMES) {
            let plain = format!("{latches}/{name}");
            // A name such as ".." has no path of its own.
            match session.client().list_children(&plain).await {
                Ok(found) if !found.is_empty() => {
                    return Some(Finding::bad(
                        "names",
                        format!(
                            "{name} lies at {plain} and at {latches}/{part}: it has two owners"
                        ),
                        "give all that share it the same option: names=encoded for those who use \
                         this library, and none where JVM services take part; delete what is left \
                         of the other",
                    ));
                }
                _ => alone = alone.or(Some((part, name))),
            }
        }
        let (part, name) = alone.filter(|_| self.config.paths.names() == Names::Shared)?;
        Some(Finding::warning(
            "names",
            format!(
                "{latches}/{part} may be {name} of a client with names=encoded or of an earlier \
                 version, and is another mutex for this one"
            ),
            "give all that share a mutex the same option",
        ))
    }
}
