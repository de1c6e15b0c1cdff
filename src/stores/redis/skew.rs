//! Whether the clocks of servers that may take over from each other agree.
//!
//! Expiries replicate as points in time, so a replica whose clock is ahead ends
//! every lease early by as much once it is master.

use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{FromRedisValue, Value};

use super::config::Address;
use super::connect::{Connector, Purpose, Route, deaf};
use super::error::fault;
use crate::backend::Finding;
use crate::clock::Clock;
use crate::error::Result;
use crate::stores::kit::skew::{self, ServerClock};

/// Compares the clocks of `all`, the masters and their replicas.
pub(super) async fn compare(
    connector: &Connector,
    all: &[Address],
    margin: Duration,
) -> Vec<Finding> {
    let (mut readings, mut findings) = (Vec::new(), Vec::new());
    for address in all {
        match read(connector, address).await {
            Ok(reading) => readings.push(reading),
            Err(error) => findings.push(Finding::warning(
                "clocks",
                format!("the clock of {address} is not known: {error}"),
                "let this user reach the replicas too, as it must after a fail-over",
            )),
        }
    }
    let then = "where a fail-over leads to it,";
    findings.extend(skew::judge(&readings, margin, then));
    findings
}

async fn read(connector: &Connector, address: &Address) -> Result<ServerClock> {
    let route = Route::Fixed(address.clone());
    let mut fresh = connector.connect(&route, Purpose::Push, &deaf()).await?;
    let (who, at) = (address.to_string(), &mut fresh.connection);
    let thrice = [
        ask(&who, at).await?,
        ask(&who, at).await?,
        ask(&who, at).await?,
    ];
    Ok(ServerClock::surest(thrice))
}

async fn ask(who: &str, at: &mut impl ConnectionLike) -> Result<ServerClock> {
    let asked = Clock::boot().now();
    let answer: Value = redis::cmd("TIME").query_async(at).await.map_err(fault)?;
    let (seconds, micros) =
        <(i64, i64)>::from_redis_value(answer).map_err(super::error::nonsense)?;
    let micros = seconds * 1_000_000 + micros;
    Ok(ServerClock::heard(who, asked, micros))
}

/// The replicas that a master names in its INFO.
pub(super) fn replicas(info: &str) -> Vec<Address> {
    let one = |line: &str| {
        let (name, fields) = line.split_once(':')?;
        let number = name.strip_prefix("slave")?;
        number.parse::<u32>().ok()?;
        let field = |key: &str| {
            let mut fields = fields.split(',').filter_map(|field| field.split_once('='));
            fields.find_map(|(name, value)| (name == key).then_some(value))
        };
        Some(Address::Tcp(
            field("ip")?.to_owned(),
            field("port")?.parse().ok()?,
        ))
    };
    info.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_read_from_info() {
        let info = "role:master\r\nconnected_slaves:1\r\n\
                    slave0:ip=10.0.0.2,port=6380,state=online,offset=14,lag=0\r\n\
                    slave_expires_tracked_keys:0\r\n";
        let found = Address::Tcp("10.0.0.2".to_owned(), 6380);
        assert_eq!(replicas(info), [found]);
    }
}
