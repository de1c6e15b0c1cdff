//! A peer as the JVM library is: plain commands and scripts of its own, by the
//! protocol and not by our code.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenure_testkit::servers::Redis;

use crate::support::PATIENCE;

const ACQUIRE: &str = "
local key = 'simba:' .. KEYS[1]
if redis.call('set', key, ARGV[1], 'nx', 'px', ARGV[2]) then
  redis.call('publish', key, 'acquired@@' .. ARGV[1])
  return ARGV[1] .. '@@' .. ARGV[2]
end
redis.call('zadd', key .. ':contender', 'nx', redis.call('time')[1], ARGV[1])
return redis.call('get', key) .. '@@' .. redis.call('pttl', key)";

const GUARD: &str = "
local key = 'simba:' .. KEYS[1]
if redis.call('get', key) ~= ARGV[1] then
  return '@@'
end
redis.call('set', key, ARGV[1], 'xx', 'px', ARGV[2])
return ARGV[1] .. '@@' .. ARGV[2]";

const RELEASE: &str = "
local key = 'simba:' .. KEYS[1]
if redis.call('get', key) ~= ARGV[1] then
  redis.call('zrem', key .. ':contender', ARGV[1])
  return 0
end
redis.call('del', key)
local next = redis.call('zrevrange', key .. ':contender', -1, -1)
if #next > 0 then
  redis.call('zrem', key .. ':contender', next[1])
  redis.call('publish', key .. ':' .. next[1], 'released@@' .. ARGV[1])
end
return 1";

pub(crate) struct Jvm<'a> {
    server: &'a Redis,
    mutex: String,
    id: String,
    messages: Option<Receiver<(String, String)>>,
    socket: Option<TcpStream>,
}

impl<'a> Jvm<'a> {
    /// A contender that listens, as it does from its start.
    pub(crate) fn new(server: &'a Redis, mutex: &str, id: &str) -> Self {
        Self::listening(server, server, mutex, id)
    }

    /// One whose push connection leads to another node of a cluster.
    pub(crate) fn listening(server: &'a Redis, at: &Redis, mutex: &str, id: &str) -> Self {
        let (socket, messages) = listen(at, mutex, id);
        let mut jvm = Self::deaf(server, mutex, id);
        jvm.messages = Some(messages);
        jvm.socket = Some(socket);
        jvm
    }

    /// A contender whose process is gone.
    pub(crate) fn deaf(server: &'a Redis, mutex: &str, id: &str) -> Self {
        Self {
            server,
            mutex: mutex.to_owned(),
            id: id.to_owned(),
            messages: None,
            socket: None,
        }
    }

    fn eval(&self, script: &str, lease: &str) -> String {
        let tag = format!("{{{}}}", self.mutex);
        self.server
            .command(&["EVAL", script, "1", &tag, &self.id, lease])
            .unwrap()
    }

    /// True when it owns now.
    pub(crate) fn acquire(&self, lease: Duration) -> bool {
        let lease = lease.as_millis().to_string();
        self.eval(ACQUIRE, &lease) == format!("{}@@{lease}", self.id)
    }

    pub(crate) fn renew(&self, lease: Duration) -> bool {
        self.eval(GUARD, &lease.as_millis().to_string()) != "@@"
    }

    /// True when it owned.
    pub(crate) fn release(&self) -> bool {
        self.eval(RELEASE, "0") == "1"
    }

    /// The next message, as `channel payload`.
    pub(crate) fn hears(&self) -> String {
        let messages = self.messages.as_ref().expect("it listens");
        let (channel, payload) = messages.recv_timeout(PATIENCE).expect("a message");
        format!("{channel} {payload}")
    }
}

impl Drop for Jvm<'_> {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn listen(server: &Redis, mutex: &str, id: &str) -> (TcpStream, Receiver<(String, String)>) {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let (broadcast, own) = (
        format!("simba:{{{mutex}}}"),
        format!("simba:{{{mutex}}}:{id}"),
    );
    let mut request = "*3\r\n".to_owned();
    for word in ["SUBSCRIBE", &broadcast, &own] {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    socket.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let subscribed = [array(&mut reader), array(&mut reader)];
    assert!(
        subscribed
            .iter()
            .flatten()
            .all(|parts| parts[0] == "subscribe")
    );
    let (send, messages) = channel();
    std::thread::spawn(move || {
        while let Some(parts) = array(&mut reader) {
            if send.send((parts[1].clone(), parts[2].clone())).is_err() {
                return;
            }
        }
    });
    (socket, messages)
}

/// The next array of three, as texts.
fn array(reader: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|length| *length > 0)?;
    let mut parts = Vec::new();
    for _ in 0..3 {
        let mut head = String::new();
        reader.read_line(&mut head).ok()?;
        let rest = head.get(1..)?.trim_end();
        if head.starts_with(':') {
            parts.push(rest.to_owned());
            continue;
        }
        let mut bytes = vec![0; rest.parse::<usize>().ok()? + 2];
        reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(bytes.len() - 2);
        parts.push(String::from_utf8(bytes).ok()?);
    }
    Some(parts)
}
