//! Pgpool-II, which sends what reads to a standby.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::error::ServerError;
use super::find::Server;
use super::home;
use super::port::Port;
use super::postgres::{self, Postgres};
use super::process::{Process, Recipe};

/// A Pgpool-II on 127.0.0.1 before a primary and its standby, which gets every statement that
/// Pgpool takes for one that only reads; its life is that of a [`Process`].
#[derive(Debug)]
pub struct Pgpool {
    process: Process,
    port: Port,
    // Where it would be told what to do.
    _orders: Port,
}

impl Pgpool {
    /// Starts it and waits until it lets clients in.
    pub fn start(primary: &Postgres, standby: &Postgres) -> Result<Pgpool, ServerError> {
        let servers = [primary.address(), standby.address()];
        Port::start(|port| {
            let orders = Port::choose()?;
            let recipe = Node {
                address: port.address(),
                orders: orders.address(),
                servers,
            };
            Ok(Pgpool {
                process: Process::launch("pgpool", Box::new(recipe))?,
                port,
                _orders: orders,
            })
        })
    }

    /// The address of the database.
    pub fn url(&self) -> String {
        let (user, database) = (Postgres::USER, Postgres::DATABASE);
        format!("postgres://{user}@{}/{database}", self.port.address())
    }
}

impl Deref for Pgpool {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    orders: SocketAddr,
    servers: [SocketAddr; 2],
}

impl Node {
    fn settings(&self, directory: &Path) -> String {
        let (port, orders, at) = (self.address.port(), self.orders.port(), directory.display());
        let mut text = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nsocket_dir = '{at}'\n\
             pcp_listen_addresses = '127.0.0.1'\npcp_port = {orders}\npcp_socket_dir = '{at}'\n\
             pid_file_name = '{at}/pid.own'\nlogdir = '{at}'\nwork_dir = '{at}'\n\
             backend_clustering_mode = 'streaming_replication'\nsr_check_user = '{user}'\n\
             load_balance_mode = on\nstatement_level_load_balance = on\n\
             disable_load_balance_on_write = 'off'\nlog_per_node_statement = on\n\
             num_init_children = 16\nmax_pool = 1\n",
            user = Postgres::USER
        );
        for (number, server) in self.servers.iter().enumerate() {
            // Reads go where there is weight.
            let port = server.port();
            text += &format!(
                "backend_hostname{number} = '127.0.0.1'\nbackend_port{number} = {port}\n\
                 backend_weight{number} = {number}\n"
            );
        }
        text
    }
}

impl Recipe for Node {
    fn fill(&self, _data: &Path) -> Result<(), ServerError> {
        Ok(())
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        let mut command = Command::new(Server::Pgpool.find("pgpool")?);
        command.arg("-n");
        let files = [
            ("-f", "pgpool.conf", self.settings(directory)),
            ("-F", "pcp.conf", String::new()),
            ("-a", "pool_hba.conf", String::new()),
        ];
        for (option, name, contents) in files {
            let path = directory.join(name);
            fs::write(&path, contents)?;
            home::give(&path, 0o600)?;
            command.arg(option).arg(path);
        }
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        postgres::admits(self.address, Duration::from_secs(2))
    }

    // SIGTERM would wait until all clients have gone.
    fn stop_signal(&self) -> Signal {
        Signal::INT
    }
}
