//! Whether the clocks of a cluster's nodes agree.
//!
//! A lease ends at a point in time, which every node of a Galera cluster finds
//! by its own clock: who asks at one that is ahead finds it over early.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::mysql::MySqlConnection;

use super::dialect::MySql;
use crate::backend::Finding;
use crate::clock::Clock;
use crate::stores::kit::skew::{self, ServerClock};
use crate::stores::sql::NotConnected;

/// How long the nodes have to answer, all together.
const LIMIT: Duration = Duration::from_secs(1);

const TIME: &str = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS micros";

/// Compares the clocks of the nodes that the server knows, if it is one itself.
pub(super) async fn compare(mysql: &MySql, on: &mut MySqlConnection) -> sqlx::Result<Vec<Finding>> {
    let known = "SHOW STATUS LIKE 'wsrep_incoming_addresses'";
    let known = sqlx::query(known).fetch_optional(on).await?;
    let known: Option<String> = known.map(|row| row.try_get("Value")).transpose()?;
    let known = known.unwrap_or_default();
    let (nodes, count) = (nodes(&known), known.split(',').count());
    let (mut readings, mut findings) = (Vec::new(), Vec::new());
    if nodes.len() < count && count > 1 {
        findings.push(Finding::warning(
            "clocks",
            format!("the cluster has {count} nodes and does not say where all of them are"),
            "set wsrep_node_incoming_address at each, so that their clocks can be compared",
        ));
    }
    let clock = Clock::boot();
    let end = clock.now() + LIMIT;
    for (host, port) in nodes {
        let who = format!("{host}:{port}");
        let why = match clock.limit(end, read(mysql, &who, &host, port)).await {
            Some(Ok(reading)) => {
                readings.push(reading);
                continue;
            }
            Some(Err(error)) => error.to_string(),
            None => "no answer in time".to_owned(),
        };
        findings.push(Finding::warning(
            "clocks",
            format!("the clock of {who} is not known: {why}"),
            "let this user reach all nodes of the cluster",
        ));
    }
    let then = "for whoever asks there";
    findings.extend(skew::judge(&readings, mysql.margin, then));
    Ok(findings)
}

async fn read(
    mysql: &MySql,
    who: &str,
    host: &str,
    port: u16,
) -> Result<ServerClock, NotConnected> {
    let mut connection = mysql.connect_to(host, port).await?;
    let at = &mut connection;
    let thrice = [
        ask(who, at).await?,
        ask(who, at).await?,
        ask(who, at).await?,
    ];
    Ok(ServerClock::surest(thrice))
}

async fn ask(who: &str, at: &mut MySqlConnection) -> sqlx::Result<ServerClock> {
    let asked = Clock::boot().now();
    let row = sqlx::query(TIME).fetch_one(at).await?;
    Ok(ServerClock::heard(who, asked, row.try_get("micros")?))
}

/// What a node says of where clients find it and the others. One that has not
/// been told says something else.
fn nodes(known: &str) -> Vec<(String, u16)> {
    let one = |node: &str| {
        let (host, port) = node.trim().rsplit_once(':')?;
        let host = host.trim_matches(['[', ']']);
        Some((host.to_owned(), port.parse().ok()?))
    };
    known.split(',').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_as_they_are_told() {
        let known = "10.0.0.1:3306,AUTO,db-2:3307, ,[::1]:3308";
        let hosts = ["10.0.0.1", "db-2", "::1"].map(str::to_owned);
        let expected: Vec<_> = hosts.into_iter().zip([3306, 3307, 3308]).collect();
        assert_eq!(nodes(known), expected);
        assert_eq!(nodes(""), []);
    }
}
