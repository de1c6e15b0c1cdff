//! Several ZooKeeper servers that agree.

use super::builder::ZooKeeperBuilder;
use super::node::ZooKeeper;
use crate::servers::Proxy;
use crate::servers::error::ServerError;
use crate::servers::extras::Extras;
use crate::servers::port::Port;
use crate::servers::wait;

/// An ensemble; each member can be paused, killed and restarted on its own.
///
/// While there is no majority a member serves no client, so bring one back with
/// [`Process::spawn`](crate::servers::Process::spawn), which does not wait.
#[derive(Debug)]
pub struct ZooKeeperEnsemble {
    members: Vec<ZooKeeper>,
    /// Reserved for as long as the members live.
    _between: Vec<Port>,
    /// Between the last member and the others, if it can be severed.
    links: Vec<Proxy>,
}

impl ZooKeeperEnsemble {
    /// Starts the members and waits until all of them serve.
    pub fn start(size: usize) -> Result<ZooKeeperEnsemble, ServerError> {
        let between = ports(size)?;
        let lines = lines(&between.iter().map(Port::number).collect::<Vec<_>>());
        let member = |index| ZooKeeper::member(index + 1, lines.clone(), Extras::default());
        let members = (0..size).map(member).collect::<Result<Vec<_>, _>>()?;
        members.iter().try_for_each(|member| member.spawn())?;
        members.iter().try_for_each(|member| member.wait_ready())?;
        Ok(ZooKeeperEnsemble {
            members,
            _between: between,
            links: Vec::new(),
        })
    }

    /// Starts three members of which the last can be [severed](Self::sever) from the other two;
    /// it leads if `leading`, and follows otherwise. After `sync_limit` ticks of silence they
    /// notice.
    pub fn start_severable(
        leading: bool,
        sync_limit: u32,
    ) -> Result<ZooKeeperEnsemble, ServerError> {
        ZooKeeperEnsemble::start_severable_with(leading, sync_limit, &[])
    }

    /// [`start_severable`](Self::start_severable) with more lines of configuration, such as
    /// `tickTime=1000`; those that begin with `-D` are for the Java machine.
    pub fn start_severable_with(
        leading: bool,
        sync_limit: u32,
        more: &[&str],
    ) -> Result<ZooKeeperEnsemble, ServerError> {
        let server = ZooKeeper::builder();
        ZooKeeperEnsemble::start_severable_like(server, leading, sync_limit, more)
    }

    /// [`start_severable_with`](Self::start_severable_with) of servers like this one.
    pub fn start_severable_like(
        server: ZooKeeperBuilder,
        leading: bool,
        sync_limit: u32,
        more: &[&str],
    ) -> Result<ZooKeeperEnsemble, ServerError> {
        let more = more.join("\n");
        let between = ports(3)?;
        let links = between.iter().map(|port| Proxy::start(port.address()));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        // The others reach the last, and the last the others, through the proxies.
        let seen_by = |last: bool| {
            let numbers = between.iter().zip(&links).enumerate();
            let number = |(index, (port, link)): (usize, (&Port, &Proxy))| {
                if (index < 4) == last {
                    link.port()
                } else {
                    port.number()
                }
            };
            let members = lines(&numbers.map(number).collect::<Vec<_>>());
            format!(
                "initLimit={}\nsyncLimit={sync_limit}\n{more}\n{members}",
                2 * sync_limit
            )
        };
        let member = |id| ZooKeeper::member(id, seen_by(id == 3), server.extras.clone());
        let members = (1..=3).map(member).collect::<Result<Vec<_>, _>>()?;
        // The highest of the first two leads, and the third finds a leader.
        let order = if leading { [0, 2, 1] } else { [0, 1, 2] };
        for part in [&order[..2], &order[2..]] {
            part.iter().try_for_each(|index| members[*index].spawn())?;
            part.iter()
                .try_for_each(|index| members[*index].wait_ready())?;
        }
        Ok(ZooKeeperEnsemble {
            members,
            _between: between,
            links,
        })
    }

    /// Parts the last member from the others, who are a majority. It is not told, and goes on
    /// answering its clients until it notices.
    pub fn sever(&self) -> Result<(), ServerError> {
        // New connections are refused: one that is accepted and silent holds up an election.
        self.links.iter().for_each(Proxy::partition);
        self.links.iter().try_for_each(Proxy::refuse)
    }

    /// Ends what [`sever`](Self::sever) began, and waits until the last member serves again.
    pub fn rejoin(&self) -> Result<(), ServerError> {
        for link in &self.links {
            // What was held is of an older time.
            link.cut()?;
            link.heal()?;
        }
        self.members[self.members.len() - 1].wait_ready()
    }

    /// What lies between the last member and the others, if it can be severed: on the way to the
    /// server it carries what the last says when it follows.
    pub fn links(&self) -> &[Proxy] {
        &self.links
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

/// Two ports for each member: one for its followers, one for elections.
fn ports(size: usize) -> Result<Vec<Port>, ServerError> {
    (0..2 * size).map(|_| Port::choose()).collect()
}

/// The lines of a configuration that name all members.
fn lines(ports: &[u16]) -> String {
    let line = |(index, pair): (usize, &[u16])| {
        let (quorum, election) = (pair[0], pair[1]);
        format!("server.{}=127.0.0.1:{quorum}:{election}\n", index + 1)
    };
    ports.chunks(2).enumerate().map(line).collect()
}
