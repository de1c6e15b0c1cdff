//! What a person should know.

use std::time::Duration;

use super::client::Store;
use super::fault;
use crate::backend::Finding;

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
                fault::read(error).to_string(),
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
                fault::read(error).to_string(),
                "give a user and password that may use these nodes",
            )),
        }
        findings
    }
}
