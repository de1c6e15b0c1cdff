//! Whether the clocks of servers that may take over from each other agree.
//!
//! Expiries replicate as points in time, so a replica whose clock is ahead ends
//! every lease early by as much once it is master.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use super::config::Address;
use super::connect::{Connector, Purpose, Route};
use super::error::fault;
use crate::backend::Finding;
use crate::clock::Clock;
use crate::error::Result;

/// How often a server is asked; the quickest answer says most.
const TIMES: usize = 3;

/// What a server's clock says.
#[derive(Debug)]
struct ClockReading {
    who: Address,
    /// Microseconds before our own clock, which counts from another beginning.
    ahead: i64,
    /// How wrong that may be.
    unsure: i64,
}

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
    findings.extend(judge(&readings, margin));
    findings
}

async fn read(connector: &Connector, address: &Address) -> Result<ClockReading> {
    let route = Route::Fixed(address.clone());
    let mut fresh = connector.connect(&route, Purpose::Push).await?;
    let clock = Clock::boot();
    let mut best: Option<ClockReading> = None;
    for _ in 0..TIMES {
        let asked = clock.now();
        let time = redis::cmd("TIME");
        let answer: Value = time
            .query_async(&mut fresh.connection)
            .await
            .map_err(fault)?;
        let answered = clock.now();
        let (seconds, micros) =
            <(i64, i64)>::from_redis_value(answer).map_err(super::error::nonsense)?;
        let half = i64::try_from(answered.since(asked).as_micros() / 2).unwrap_or(i64::MAX);
        let ours = i64::try_from(asked.as_nanos() / 1000).unwrap_or(i64::MAX);
        let reading = ClockReading {
            who: address.clone(),
            ahead: seconds * 1_000_000 + micros - ours.saturating_add(half),
            unsure: half,
        };
        if best
            .as_ref()
            .is_none_or(|best| reading.unsure < best.unsure)
        {
            best = Some(reading);
        }
    }
    best.ok_or_else(|| super::error::nonsense("no time"))
}

/// What the readings say of the two clocks that differ most.
fn judge(readings: &[ClockReading], margin: Duration) -> Option<Finding> {
    let first = readings.iter().max_by_key(|it| it.ahead)?;
    let last = readings.iter().min_by_key(|it| it.ahead)?;
    if readings.len() < 2 {
        return None;
    }
    let micros = |number: i64| Duration::from_micros(u64::try_from(number).unwrap_or(0));
    let apart = micros(first.ahead - last.ahead);
    let unsure = micros(first.unsure + last.unsure);
    if apart <= margin + unsure {
        let within = format!("{} servers, {apart:.1?} apart at most", readings.len());
        return Some(Finding::good("clocks", within));
    }
    Some(Finding::warning(
        "clocks",
        format!(
            "the clock of {} is {apart:.1?} ahead of that of {}: where a fail-over leads to it, \
             leases end early by as much, and two may own (the margin is {margin:?})",
            first.who, last.who
        ),
        "synchronise the clocks of all servers (chrony, NTP)",
    ))
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
    use crate::backend::Severity;

    #[test]
    fn only_a_difference_beyond_the_margin_is_told() {
        let reading = |port, ahead, unsure| ClockReading {
            who: Address::Tcp("h".to_owned(), port),
            ahead,
            unsure,
        };
        let margin = Duration::from_millis(37);
        let judged = |all: &[ClockReading]| judge(all, margin).map(|finding| finding.severity);
        assert_eq!(judged(&[reading(1, 5, 0)]), None);
        let near = [reading(1, 0, 500), reading(2, 37_900, 500)];
        assert_eq!(judged(&near), Some(Severity::Good));
        let far = [reading(1, 0, 500), reading(2, 39_000, 500)];
        assert_eq!(judged(&far), Some(Severity::Warning));
    }

    #[test]
    fn replicas_are_read_from_info() {
        let info = "role:master\r\nconnected_slaves:1\r\n\
                    slave0:ip=10.0.0.2,port=6380,state=online,offset=14,lag=0\r\n\
                    slave_expires_tracked_keys:0\r\n";
        let found = Address::Tcp("10.0.0.2".to_owned(), 6380);
        assert_eq!(replicas(info), [found]);
    }
}
