//! Several MariaDB servers that are one: a Galera cluster.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::ServerError;
use super::find::Server;
use super::mariadb::{MariaDb, MariaDbBuilder};
use super::port::Port;
use super::{home, wait};

/// Stands in for the scripts that copy a node's data to one that joins, and that are not
/// installed everywhere: ours joins with the same data, and says its number. Newer servers tell it
/// something, and give up if it is not heard.
const JOIN: &str = r#"#!/bin/sh
exec 3<&0
cat <&3 >/dev/null 2>&1 &
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2 ;;
        --gtid) number=$2 ;;
        --datadir) data=$2 ;;
    esac
    shift
done
case $role in
    donor) echo "done $number" ;;
    *) echo "ready 127.0.0.1:1/same" && cat "$data/number" ;;
esac
"#;

/// Two MariaDB servers on 127.0.0.1 that are one Galera cluster: each takes reads and writes.
/// The first alone has the majority, so it goes on when the second is cut off.
#[derive(Debug)]
pub struct Galera {
    nodes: [MariaDb; 2],
    // Where the nodes speak to each other.
    _ports: [Ports; 2],
}

/// Of one node: for the group, and for what a node has missed.
#[derive(Debug)]
struct Ports {
    group: Port,
    missed: Port,
}

impl Ports {
    fn choose() -> Result<Ports, ServerError> {
        Ok(Ports {
            group: Port::choose()?,
            missed: Port::choose()?,
        })
    }
}

impl Galera {
    /// Starts the two.
    pub fn start() -> Result<Galera, ServerError> {
        Galera::of(MariaDb::builder())
    }

    /// Starts the two; each has a wall clock that can be set: [`Process::set_clock`].
    ///
    /// [`Process::set_clock`]: super::Process::set_clock
    pub fn with_own_clocks() -> Result<Galera, ServerError> {
        Galera::of(MariaDb::builder().own_clock()?)
    }

    fn of(server: MariaDbBuilder) -> Result<Galera, ServerError> {
        let ports = [Ports::choose()?, Ports::choose()?];
        let builder = node(&server, &ports[0], "", 3)?.switch("wsrep-new-cluster");
        // It is ended once in an orderly way, so that its data has a number.
        let first = builder.start()?;
        wait_for(&first, 1)?;
        first.stop()?;
        let data = first.directory().join("data");
        let _ = fs::remove_file(data.join("galera.cache"));
        write_number(&data)?;
        let same = home::directory("galera")?;
        home::copy(&data, &same)?;
        first.start()?;
        wait_for(&first, 1)?;
        let group = ports[0].group.address().to_string();
        let second = node(&server, &ports[1], &group, 1)?.copy_of(same).start()?;
        wait_for(&second, 2)?;
        wait_for(&first, 2)?;
        Ok(Galera {
            nodes: [first, second],
            _ports: ports,
        })
    }

    /// The two.
    pub fn nodes(&self) -> &[MariaDb; 2] {
        &self.nodes
    }

    /// Cuts the second off from the first, or lets it come back; clients still reach both.
    pub fn part(&self, is_apart: bool) -> Result<(), ServerError> {
        let sql = format!(
            "SET GLOBAL wsrep_provider_options = 'gmcast.isolate={}'",
            u8::from(is_apart)
        );
        self.nodes[1].sql(&sql).map(drop)
    }

    /// Waits until as many of them as are meant to work count so many nodes.
    pub fn wait_for(&self, count: usize) -> Result<(), ServerError> {
        let nodes = self.nodes.iter().take(count);
        nodes.into_iter().try_for_each(|node| wait_for(node, count))
    }
}

/// Waits until `node` works, in a cluster of so many.
fn wait_for(node: &MariaDb, count: usize) -> Result<(), ServerError> {
    let status = |name: &str| {
        let asked = node.sql(&format!("SHOW STATUS LIKE '{name}'"));
        let row = asked.unwrap_or_default();
        row.split_once('\t').map(|(_, value)| value.to_owned())
    };
    let ready = |name: &str, wanted: &str| {
        let is = status(name).unwrap_or_default();
        (is == wanted)
            .then_some(())
            .ok_or(format!("{name} is {is:?}"))
    };
    let waited = wait::until("a cluster", || {
        ready("wsrep_ready", "ON")?;
        ready("wsrep_cluster_size", &count.to_string())
    });
    waited.map_err(|error| ServerError::new(format!("{error}; its log:\n{}", node.log())))
}

fn node(
    server: &MariaDbBuilder,
    ports: &Ports,
    group: &str,
    weight: u32,
) -> Result<MariaDbBuilder, ServerError> {
    let library = Server::Galera.find("libgalera_smm.so")?;
    let scripts = home::directory("galera")?;
    let script = scripts.join("wsrep_sst_same");
    fs::write(&script, JOIN)?;
    home::give(&script, 0o700)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let options = format!(
        "gmcast.listen_addr=tcp://{};ist.recv_addr={};gcache.size=4M;pc.weight={weight};\
         evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S",
        ports.group.address(),
        ports.missed.address(),
    );
    Ok(server
        .clone()
        .env("PATH", &format!("{}:{path}", scripts.display()))
        // Newer servers make variables of the options, but not of all that can be set.
        .set("loose-plugin-wsrep-provider", "OFF")
        .set("wsrep-on", "ON")
        .set("wsrep-provider", &library.display().to_string())
        .set("wsrep-provider-options", &options)
        .set("wsrep-cluster-name", "tenure")
        .set("wsrep-cluster-address", &format!("gcomm://{group}"))
        .set("wsrep-node-address", "127.0.0.1")
        .set("wsrep-sst-method", "same")
        .set("binlog-format", "ROW")
        .set("innodb-autoinc-lock-mode", "2"))
}

/// Notes the number of the data where the script finds it: running, the server hides it.
fn write_number(data: &Path) -> Result<(), ServerError> {
    let state = fs::read_to_string(data.join("grastate.dat"))?;
    let field = |name: &str| field(&state, name).unwrap_or_default().to_owned();
    put_number(data, &format!("{}:{}", field("uuid:"), field("seqno:")))
}

fn put_number(data: &Path, number: &str) -> Result<(), ServerError> {
    let path = data.join("number");
    fs::write(&path, format!("{number}\n"))?;
    Ok(home::give(&path, 0o600)?)
}

/// What stands behind `name` in the lines of a state.
fn field<'s>(state: &'s str, name: &str) -> Option<&'s str> {
    let line = state.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim())
}

/// The number of the data of a node that was killed, as `recover`, its own command, finds it: with
/// it the node asks for what it has missed, and not for all. Nothing, if it ended in an orderly way.
pub(super) fn recovered(
    data: &Path,
    recover: impl FnOnce() -> Command,
) -> Result<Option<String>, ServerError> {
    const FOUND: &str = "Recovered position:";
    let state = fs::read_to_string(data.join("grastate.dat")).unwrap_or_default();
    if field(&state, "seqno:") != Some("-1") {
        return Ok(None);
    }
    let mut recover = recover();
    let output = recover.arg("--wsrep-recover").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let found = said
        .lines()
        .find_map(|line| Some(line.split_once(FOUND)?.1));
    let number = found.map(|number| number.trim().to_owned());
    let number = number.ok_or_else(|| ServerError::new(format!("no position in:\n{said}")))?;
    put_number(data, &number)?;
    Ok(Some(number))
}
