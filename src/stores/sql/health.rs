//! What a person should know about the server and the table.

use super::client::Client;
use super::dialect::Dialect;
use super::question::{Inspect, Survey};
use crate::backend::Finding;

impl<D: Dialect> Client<D> {
    pub(super) async fn survey(&self) -> Vec<Finding> {
        let surveyed = match self.ask(Survey).await {
            Ok(surveyed) => surveyed,
            Err(error) => {
                let remedy = "see whether the server is up, and what the user may do";
                return vec![Finding::bad("server", error.to_string(), remedy)];
            }
        };
        let dialect = self.dialect();
        let found = self.ask(Inspect).await;
        let table = match found.and_then(|found| dialect.fit(&found)) {
            Ok(()) => Finding::good("table", dialect.tables()[0].to_owned()),
            Err(error) => Finding::bad("table", error.to_string(), ""),
        };
        let mut findings = vec![Finding::good("server", surveyed.version), table];
        findings.extend(surveyed.findings);
        findings
    }
}
