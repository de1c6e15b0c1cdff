//! One client of a router, and its two sessions.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpStream};

use super::Rule;
use super::packets::{self, DEPRECATE_EOF, Packet};

/// A session with a server.
struct Session {
    stream: TcpStream,
    /// What the server calls the statements that it has prepared.
    prepared: HashMap<u32, u32>,
}

struct Connection {
    client: TcpStream,
    sessions: [Session; 2],
    has_eof: bool,
    rule: Rule,
    /// The session that the last statement had.
    last: usize,
    /// The statements that the client has prepared, by their number.
    statements: HashMap<u32, String>,
}

/// Serves a client until it or a server ends the connection.
pub(super) fn serve(client: TcpStream, servers: [SocketAddr; 2], rule: Rule) -> io::Result<()> {
    let mut connection = greet(client, servers, rule)?;
    loop {
        let command = Packet::read(&mut connection.client)?;
        if command.first() == packets::QUIT {
            return Ok(());
        }
        connection.pass(command)?;
    }
}

/// Lets the client log in at both servers: without a password the answer is the same for both.
fn greet(mut client: TcpStream, servers: [SocketAddr; 2], rule: Rule) -> io::Result<Connection> {
    client.set_nodelay(true)?;
    let [mut first, mut second] = [connect(servers[0])?, connect(servers[1])?];
    let greeting = Packet::read(&mut first)?;
    Packet::read(&mut second)?;
    greeting.send(&mut client)?;
    let login = Packet::read(&mut client)?;
    for server in [&mut first, &mut second] {
        login.send(server)?;
    }
    Packet::read(&mut second)?;
    Packet::read(&mut first)?.send(&mut client)?;
    let wanted = login
        .body()
        .first_chunk()
        .map_or(0, |b| u32::from_le_bytes(*b));
    let session = |stream| Session {
        stream,
        prepared: HashMap::new(),
    };
    Ok(Connection {
        client,
        sessions: [session(first), session(second)],
        has_eof: wanted & DEPRECATE_EOF == 0,
        rule,
        last: 0,
        statements: HashMap::new(),
    })
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Connection {
    fn pass(&mut self, command: Packet) -> io::Result<()> {
        let text = || String::from_utf8_lossy(&command.body()[1..]).into_owned();
        match (command.first(), command.statement()) {
            (packets::PREPARE, _) => self.prepare(text()),
            (packets::EXECUTE, Some(number)) => {
                let statement = self.statements.get(&number).cloned();
                let statement = statement.ok_or(io::ErrorKind::InvalidData)?;
                let session = self.route(&statement);
                let known = self.known(session, number, &statement)?;
                self.ask(session, &command.with_statement(known))
            }
            (packets::CLOSE, Some(number)) => {
                self.statements.remove(&number);
                for session in &mut self.sessions {
                    if let Some(known) = session.prepared.remove(&number) {
                        let close = command.clone().with_statement(known);
                        close.send(&mut session.stream)?;
                    }
                }
                Ok(())
            }
            (packets::QUERY, _) => {
                let statement = text();
                let session = self.route(&statement);
                if self.rule == Rule::ReadsApart && begins_with(&statement, "SET") {
                    let other = 1 - session;
                    let answer = self.answer(other, &command)?;
                    drop(answer);
                }
                self.ask(session, &command)
            }
            _ => self.ask(self.last, &command),
        }
    }

    /// Which session gets the statement.
    fn route(&mut self, statement: &str) -> usize {
        self.last = match self.rule {
            Rule::Another => 1 - self.last,
            Rule::ReadsApart => usize::from(only_reads(statement)),
        };
        self.last
    }

    /// Prepares where it would run, and gives it a number of our own.
    fn prepare(&mut self, statement: String) -> io::Result<()> {
        let session = match self.rule {
            Rule::Another => self.last,
            Rule::ReadsApart => usize::from(only_reads(&statement)),
        };
        let command = Packet::new(0, &[&[packets::PREPARE], statement.as_bytes()].concat());
        let mut answer = self.answer(session, &command)?;
        if answer[0].first() == 0 {
            let number = 1 + self.statements.keys().max().copied().unwrap_or(0);
            let known = answer[0].statement().ok_or(io::ErrorKind::InvalidData)?;
            self.sessions[session].prepared.insert(number, known);
            self.statements.insert(number, statement);
            answer[0] = answer[0].clone().with_statement(number);
        }
        self.tell(&answer)
    }

    /// What the session calls the statement; it is prepared there if it is not.
    fn known(&mut self, session: usize, number: u32, statement: &str) -> io::Result<u32> {
        if let Some(known) = self.sessions[session].prepared.get(&number) {
            return Ok(*known);
        }
        let command = Packet::new(0, &[&[packets::PREPARE], statement.as_bytes()].concat());
        let answer = self.answer(session, &command)?;
        let known = answer[0].statement().filter(|_| answer[0].first() == 0);
        let known = known.ok_or(io::ErrorKind::InvalidData)?;
        self.sessions[session].prepared.insert(number, known);
        Ok(known)
    }

    fn ask(&mut self, session: usize, command: &Packet) -> io::Result<()> {
        let answer = self.answer(session, command)?;
        self.tell(&answer)
    }

    fn answer(&mut self, session: usize, command: &Packet) -> io::Result<Vec<Packet>> {
        let stream = &mut self.sessions[session].stream;
        command.send(stream)?;
        packets::answer(stream, command.first(), self.has_eof)
    }

    fn tell(&mut self, answer: &[Packet]) -> io::Result<()> {
        answer
            .iter()
            .try_for_each(|packet| packet.send(&mut self.client))
    }
}

/// As splitters judge: a SELECT that locks nothing.
fn only_reads(statement: &str) -> bool {
    begins_with(statement, "SELECT") && !statement.to_uppercase().contains("FOR UPDATE")
}

fn begins_with(statement: &str, word: &str) -> bool {
    let begin = statement.trim_start().get(..word.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}
