//! A peer as Redisson's `RLock` is: plain commands and scripts of its own, by
//! the protocol and not by our code.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenure_testkit::servers::Redis;

use crate::support::PATIENCE;

const LOCK: &str = "
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return -9
end
return redis.call('pttl', KEYS[1])";

const UNLOCK: &str = "
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return -1 end
local count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], ARGV[3], '0')
return 1";

const FENCED: &str = "return redis.call('incr', KEYS[1])";

/// As its fenced lock has it: every lock call that succeeds counts up.
const LOCK_FENCED: &str = "
if (redis.call('exists', KEYS[1]) == 1) and (redis.call('hexists', KEYS[1], ARGV[2]) == 0) then
  return -1
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return redis.call('incr', KEYS[2])";

/// One thread of a JVM.
pub(crate) struct Redisson<'a> {
    server: &'a Redis,
    name: String,
    id: String,
    sharded: bool,
}

impl<'a> Redisson<'a> {
    pub(crate) fn new(server: &'a Redis, name: &str) -> Self {
        Self {
            server,
            name: name.to_owned(),
            id: format!("{}:17", uuid()),
            sharded: false,
        }
    }

    /// The same in a cluster of version 7.
    pub(crate) fn in_cluster(server: &'a Redis, name: &str) -> Self {
        Self {
            sharded: true,
            ..Self::new(server, name)
        }
    }

    fn channel(&self) -> String {
        if self.name.contains('{') {
            format!("redisson_lock__channel:{}", self.name)
        } else {
            format!("redisson_lock__channel:{{{}}}", self.name)
        }
    }

    /// `None` when it holds the lock now, else for how long it is held.
    pub(crate) fn lock(&self, lease: Duration) -> Option<Duration> {
        let lease = lease.as_millis().to_string();
        let words = ["EVAL", LOCK, "1", &self.name, &lease, &self.id];
        match self.server.command(&words).unwrap().parse::<i64>().unwrap() {
            -9 => None,
            left => Some(Duration::from_millis(u64::try_from(left).unwrap())),
        }
    }

    /// The token of a fenced lock that it holds now; `None` when another does.
    pub(crate) fn lock_fenced(&self, lease: Duration) -> Option<u64> {
        let (lease, token) = (
            lease.as_millis().to_string(),
            format!("redisson_lock_token:{{{}}}", self.name),
        );
        let words = [
            "EVAL",
            LOCK_FENCED,
            "2",
            &self.name,
            &token,
            &lease,
            &self.id,
        ];
        self.server.command(&words).unwrap().parse().ok()
    }

    /// One hold less; true when the lock is free now, an error for a stranger.
    pub(crate) fn unlock(&self) -> Result<bool, &'static str> {
        let (channel, publish) = (
            self.channel(),
            if self.sharded { "SPUBLISH" } else { "PUBLISH" },
        );
        let words = [
            "EVAL", UNLOCK, "1", &self.name, "30000", &self.id, &channel, publish,
        ];
        match self.server.command(&words).unwrap().as_str() {
            "-1" => Err("not locked by this thread"),
            "0" => Ok(false),
            _ => Ok(true),
        }
    }

    /// The token of its fenced lock, which it has just locked.
    pub(crate) fn fence(&self) -> u64 {
        let key = format!("redisson_lock_token:{{{}}}", self.name);
        let token = self.server.command(&["EVAL", FENCED, "1", &key]);
        token.unwrap().parse().unwrap()
    }

    pub(crate) fn hold_count(&self) -> String {
        self.server
            .command(&["HGET", &self.name, &self.id])
            .unwrap()
    }

    /// Listens for unlocks, as it does while it waits.
    pub(crate) fn listen(&self) -> Ear {
        let verb = if self.sharded {
            "SSUBSCRIBE"
        } else {
            "SUBSCRIBE"
        };
        Ear::new(self.server, verb, &self.channel())
    }
}

fn uuid() -> String {
    let bits = fastrand::u128(..);
    format!("{:08x}-0000-4000-8000-{:012x}", bits as u32, bits >> 80)
}

/// A subscription.
pub(crate) struct Ear {
    messages: Receiver<String>,
    socket: TcpStream,
}

impl Ear {
    fn new(server: &Redis, verb: &str, name: &str) -> Self {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        let (verb_length, length) = (verb.len(), name.len());
        let request = format!("*2\r\n${verb_length}\r\n{verb}\r\n${length}\r\n{name}\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let first = array(&mut reader).expect("the subscription's answer");
        assert_eq!(first[0], verb.to_lowercase(), "{first:?}");
        let (send, messages) = channel();
        std::thread::spawn(move || {
            while let Some(parts) = array(&mut reader) {
                if send.send(parts[2].clone()).is_err() {
                    return;
                }
            }
        });
        Self { messages, socket }
    }

    /// The next message.
    pub(crate) fn hears(&self) -> String {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
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
