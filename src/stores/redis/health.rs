//! What a person should know about the server.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use super::client::Redis;
use super::config::{Address, Topology};
use super::connect::{Connector, field};
use super::server::Server;
use super::skew;
use crate::backend::Finding;
use crate::error::Result;
use crate::stores::kit::Tested;

/// The only policy under which a held lock cannot be thrown away.
const SAFE_POLICY: &str = "noeviction";

/// How long sentinels have at most to answer the doctor.
const SURVEY_LIMIT: Duration = Duration::from_secs(2);

pub(super) async fn check(redis: &Redis) -> Vec<Finding> {
    if let Err(closed) = redis.check_open() {
        return vec![Finding::bad(
            "connection",
            closed.to_string(),
            "open a new client",
        )];
    }
    let (mut findings, mut all) = (Vec::new(), Vec::new());
    let servers = redis.0.servers.masters();
    for server in &servers {
        findings.extend(check_server(redis, server, &mut all).await);
    }
    if let Some(server) = servers.first() {
        findings.extend(check_sentinels(server.connector()).await);
        let margin = redis.0.config.margin;
        findings.extend(skew::compare(server.connector(), &all, margin).await);
    }
    findings
}

/// Looks at one master, and notes where it and its replicas are.
async fn check_server(redis: &Redis, server: &Server, all: &mut Vec<Address>) -> Vec<Finding> {
    let clock = crate::clock::Clock::boot();
    let asked = clock.now();
    if let Err(error) = server.ask(&redis::cmd("PING")).await {
        let remedy = "see whether it is up and reachable from here, and the URL's user right";
        return vec![Finding::bad("connection", error.to_string(), remedy)];
    }
    let took = clock.now().since(asked);
    let mut findings = vec![Finding::good(
        "connection",
        format!("answers within {took:.1?}"),
    )];
    findings.push(may_publish(redis, server).await);
    match info(server).await {
        Ok(info) => {
            findings.extend(judge(&info));
            let replicas = skew::replicas(&info);
            findings.extend(judge_replication(redis, &info, &replicas));
            if let (Ok(address), false) = (server.address().await, replicas.is_empty()) {
                all.push(address);
            } else if redis.0.config.is_cluster() {
                all.extend(server.address().await);
            }
            all.extend(replicas);
        }
        Err(error) => findings.push(Finding::warning(
            "INFO",
            format!("memory policy, role and persistence are not known: {error}"),
            "permit it: ACL SETUSER … +info",
        )),
    }
    findings
}

/// Whether the URL lists the sentinels that there are.
async fn check_sentinels(connector: &Connector) -> Option<Finding> {
    let sentinels = connector.sentinels.as_ref()?;
    // All of the check has little more than the time of one call.
    let limit = SURVEY_LIMIT.min(connector.config.probe_limit);
    let (votes, troubles) = sentinels.survey(connector, limit).await;
    let (listed, all) = (sentinels.listed(), votes.all());
    let list_all = "list every sentinel once in the URL";
    Some(if votes.decided().is_none() {
        let trouble = sentinels.undecided(&votes, &troubles).to_string();
        Finding::bad("sentinels", trouble, list_all)
    } else if votes.is_partial() {
        Finding::warning(
            "sentinels",
            "they do not say who they are, or whom they know: if the URL lists half of them or \
             fewer, a master that was replaced may be followed",
            "permit it: ACL SETUSER … +sentinel|myid +sentinel|sentinels",
        )
    } else if let Some((one, other)) = votes.doubled() {
        let found = format!("{one} and {other} are one sentinel, which has one vote");
        Finding::warning("sentinels", found, list_all)
    } else if all > listed {
        Finding::warning(
            "sentinels",
            format!(
                "the URL lists {listed} of the {all} that are known: {} must agree",
                votes.enough()
            ),
            "list all of them; SENTINEL RESET forgets those that are gone for good",
        )
    } else if let Some(trouble) = troubles.first() {
        let found = format!("not all of the {all} answer: {trouble}");
        Finding::warning("sentinels", found, "mend it, or replace it in the URL")
    } else {
        Finding::good("sentinels", format!("the URL lists all {all} of them"))
    })
}

/// Whether a master that was cut off goes on as if nothing had happened.
fn judge_replication(redis: &Redis, info: &str, replicas: &[Address]) -> Option<Finding> {
    let config = &redis.0.config;
    if matches!(config.topology, Topology::Single(_)) && replicas.is_empty() {
        return None;
    }
    // Told only where min-replicas-to-write is not 0.
    if field(info, "min_slaves_good_slaves").is_some() {
        let found = "min-replicas-to-write: a master without its replicas takes no writes";
        return Some(Finding::good("replication", found));
    }
    if config.wait_replicas > 0 {
        let found = "wait_replicas: only what replicas have counts";
        return Some(Finding::good("replication", found));
    }
    Some(Finding::warning(
        "replication",
        "min-replicas-to-write is 0 and wait_replicas is off: a master that is cut off from its \
         replicas goes on granting what a fail-over forgets",
        "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag below the lease, or the \
         URL's option wait_replicas",
    ))
}

async fn may_publish(redis: &Redis, server: &Server) -> Finding {
    let mut publish = redis::cmd("PUBLISH");
    publish
        .arg(format!("{}tenure-check", redis.0.config.prefix))
        .arg("check");
    match server.ask(&publish).await {
        Ok(_) => Finding::good("wake-ups", "PUBLISH is permitted"),
        Err(error) => Finding::bad(
            "wake-ups",
            format!("waiters cannot be woken: {error}"),
            "permit it: ACL SETUSER … +publish and the channels &<prefix>*",
        ),
    }
}

async fn info(server: &Server) -> Result<String> {
    let value: Value = server.ask(&redis::cmd("INFO")).await?;
    String::from_redis_value(value).map_err(super::error::nonsense)
}

const REDIS: Tested = Tested {
    server: "Redis",
    versions: &["7.0", "8.0"],
};

const VALKEY: Tested = Tested {
    server: "Valkey",
    versions: &["8.1", "9.1"],
};

fn judge(info: &str) -> Vec<Finding> {
    let get = |name| field(info, name).unwrap_or("unknown");
    // Valkey calls itself a Redis of the version that it began with, too.
    let version = match field(info, "valkey_version") {
        Some(version) => VALKEY.told(version),
        None => REDIS.told(get("redis_version")),
    };
    let mut findings = vec![Finding::good("version", version)];
    findings.push(match get("role") {
        "slave" => Finding::bad(
            "role",
            "this server is a replica and takes no writes",
            "name the master, or use redis+sentinel://",
        ),
        role => Finding::good("role", role.to_owned()),
    });
    findings.push(match (get("maxmemory_policy"), get("maxmemory")) {
        (SAFE_POLICY, _) => Finding::good("eviction", "noeviction: no lock is thrown away"),
        (policy, "0") => Finding::warning(
            "eviction",
            format!("maxmemory-policy {policy} would throw locks away, had maxmemory a limit"),
            "CONFIG SET maxmemory-policy noeviction",
        ),
        (policy, _) => Finding::warning(
            "eviction",
            format!(
                "maxmemory-policy {policy}: a held lock can be thrown away when memory is full"
            ),
            "CONFIG SET maxmemory-policy noeviction",
        ),
    });
    findings.push(match get("aof_enabled") {
        "1" => Finding::good("persistence", "append-only file"),
        _ => Finding::warning(
            "persistence",
            "a restart forgets who owns; tokens still rise by the server's clock",
            "appendonly yes, or the URL's option restart_grace=on",
        ),
    });
    findings
}

/// Says at once what could cost a held lock later.
pub(super) async fn warn_of_eviction(redis: &Redis) {
    let mut command = redis::cmd("INFO");
    command.arg("memory");
    // Not permitted to ask: the doctor says so.
    let Ok(value) = redis.0.servers.ask(&command).await else {
        return;
    };
    let info = String::from_redis_value(value).unwrap_or_default();
    match field(&info, "maxmemory_policy") {
        Some(policy) if policy != SAFE_POLICY => tracing::warn!(
            policy,
            "this maxmemory-policy lets Redis throw a held lock away; noeviction does not"
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Severity;

    #[test]
    fn valkey_is_told_from_redis() {
        let both = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n";
        assert_eq!(judge(both)[0].detail, "Valkey 8.1.1, a tested version");
        let redis = "redis_version:8.0.6\r\n";
        assert_eq!(judge(redis)[0].detail, "Redis 8.0.6, a tested version");
    }

    #[test]
    fn eviction_and_replicas_are_found() {
        let info = "redis_version:7.0.15\r\nrole:slave\r\nmaxmemory:100\r\n\
                    maxmemory_policy:allkeys-lru\r\naof_enabled:0\r\n";
        let severities: Vec<_> = judge(info).iter().map(|f| f.severity).collect();
        use Severity::{Bad, Good, Warning};
        assert_eq!(severities, [Good, Bad, Warning, Warning]);
    }
}
