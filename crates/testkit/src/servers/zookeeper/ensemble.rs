//! Several ZooKeeper servers that agree.

use super::node::ZooKeeper;
use crate::servers::error::ServerError;
use crate::servers::port::Port;
use crate::servers::wait;

/// An ensemble; each member can be paused, killed and restarted on its own.
///
/// While there is no majority a member serves nobody, so bring one back with
/// [`Process::spawn`](crate::servers::Process::spawn), which does not wait.
#[derive(Debug)]
pub struct ZooKeeperEnsemble {
    members: Vec<ZooKeeper>,
    _between: Vec<Port>,
}

impl ZooKeeperEnsemble {
    /// Starts the members and waits until all of them serve.
    pub fn start(size: usize) -> Result<ZooKeeperEnsemble, ServerError> {
        let ports = (0..2 * size)
            .map(|_| Port::choose())
            .collect::<Result<Vec<_>, _>>()?;
        let line = |(index, pair): (usize, &[Port])| {
            let (quorum, election) = (pair[0].number(), pair[1].number());
            format!("server.{}=127.0.0.1:{quorum}:{election}\n", index + 1)
        };
        let lines: String = ports.chunks(2).enumerate().map(line).collect();
        let member = |index| ZooKeeper::member(index + 1, lines.clone());
        let members = (0..size).map(member).collect::<Result<Vec<_>, _>>()?;
        members.iter().try_for_each(|member| member.spawn())?;
        members.iter().try_for_each(|member| member.wait_ready())?;
        Ok(ZooKeeperEnsemble {
            members,
            _between: ports,
        })
    }

    /// The members.
    pub fn members(&self) -> &[ZooKeeper] {
        &self.members
    }

    /// What clients are given: the addresses of all members, separated by commas.
    pub fn addresses(&self) -> String {
        let addresses: Vec<_> = self
            .members
            .iter()
            .map(|m| m.address().to_string())
            .collect();
        addresses.join(",")
    }

    /// The member that leads at this moment, if any does.
    pub fn leader(&self) -> Option<&ZooKeeper> {
        self.members
            .iter()
            .find(|m| m.pid().is_some() && m.mode().is_ok_and(|m| m == "leader"))
    }

    /// Waits until a member leads.
    pub fn wait_leader(&self) -> Result<&ZooKeeper, ServerError> {
        wait::until("a leader", || self.leader().ok_or("none yet"))
    }
}
