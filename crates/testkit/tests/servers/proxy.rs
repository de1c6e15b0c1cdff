use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tenure_testkit::servers::{Flow, Proxy, Redis, Way, wait};

use crate::SILENCE;

fn client(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
}

/// Says a line to Redis and gives what comes back at once.
fn say(stream: &mut TcpStream, line: &str) -> io::Result<String> {
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    hear(stream)
}

fn hear(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = [0; 256];
    match stream.read(&mut bytes)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        length => Ok(String::from_utf8_lossy(&bytes[..length]).into_owned()),
    }
}

/// Nothing comes, and the connection stays open.
fn is_silent(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let kind = hear(stream).unwrap_err().kind();
    assert!(
        matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{kind}"
    );
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
}

fn is_reset(stream: &mut TcpStream) {
    assert_eq!(hear(stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

fn redis_behind_proxy() -> (Redis, Proxy) {
    let redis = Redis::start().unwrap();
    let proxy = Proxy::start(redis.address()).unwrap();
    (redis, proxy)
}

/// A server that takes one connection and reports everything it gets.
fn recorder() -> (SocketAddr, Receiver<io::Result<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        loop {
            let mut bytes = vec![0; 256];
            let got = stream
                .read(&mut bytes)
                .map(|length| bytes[..length].to_vec());
            let last = got.as_ref().map_or(true, Vec::is_empty);
            if sender.send(got).is_err() || last {
                return;
            }
        }
    });
    (address, receiver)
}

#[test]
fn bytes_pass_both_ways() {
    let (redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    assert_eq!(say(&mut client, "SET a 1").unwrap(), "+OK\r\n");
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "1");
    assert_eq!(proxy.connections(), 1);
    drop(client);
    wait::until_true("the end of the connection", || proxy.connections() == 0).unwrap();
}

#[test]
fn a_delay_holds_bytes_up_and_healing_ends_it() {
    let (_redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    proxy.set(Way::ToServer, Flow::Delay(Duration::from_millis(200)));
    proxy.set(Way::ToClient, Flow::Delay(Duration::from_millis(100)));
    let before = Instant::now();
    assert_eq!(say(&mut client, "PING").unwrap(), "+PONG\r\n");
    assert!(before.elapsed() >= Duration::from_millis(300));
    proxy.set(Way::ToClient, Flow::Delay(Duration::from_secs(3600)));
    client.write_all(b"PING\r\n").unwrap();
    is_silent(&mut client);
    proxy.heal().unwrap();
    assert_eq!(hear(&mut client).unwrap(), "+PONG\r\n");
}

#[test]
fn bytes_drip_one_by_one_until_the_network_heals() {
    let (_redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    proxy.set(Way::ToClient, Flow::Drip(Duration::from_millis(20)));
    let before = Instant::now();
    client.write_all(b"PING\r\n").unwrap();
    let mut whole = [0; 7];
    client.read_exact(&mut whole).unwrap();
    assert_eq!(&whole, b"+PONG\r\n");
    assert!(before.elapsed() >= Duration::from_millis(6 * 20));
    proxy.set(Way::ToClient, Flow::Drip(Duration::from_secs(3600)));
    client.write_all(b"PING\r\n").unwrap();
    let mut first = [0];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"+");
    is_silent(&mut client);
    proxy.heal().unwrap();
    let mut rest = [0; 6];
    client.read_exact(&mut rest).unwrap();
    assert_eq!(&rest, b"PONG\r\n");
}

#[test]
fn a_request_held_on_its_way_is_applied_when_the_network_heals() {
    let (redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    assert_eq!(say(&mut client, "PING").unwrap(), "+PONG\r\n");
    proxy.set(Way::ToServer, Flow::Hold);
    client.write_all(b"SET a 1\r\n").unwrap();
    is_silent(&mut client);
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "(nil)");
    proxy.heal().unwrap();
    assert_eq!(hear(&mut client).unwrap(), "+OK\r\n");
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "1");
}

#[test]
fn a_reply_can_be_held_though_the_request_was_applied() {
    let (redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    proxy.set(Way::ToClient, Flow::Hold);
    // The handshake of a new connection does not pass either.
    client.write_all(b"SET a 1\r\n").unwrap();
    is_silent(&mut client);
    proxy.heal().unwrap();
    assert_eq!(hear(&mut client).unwrap(), "+OK\r\n");
    proxy.set(Way::ToClient, Flow::Hold);
    client.write_all(b"SET a 2\r\n").unwrap();
    wait::until_true("the request applied", || {
        redis.command(&["GET", "a"]).unwrap() == "2"
    })
    .unwrap();
    is_silent(&mut client);
}

#[test]
fn a_partition_hides_even_the_end_of_a_client() {
    let (server, got) = recorder();
    let proxy = Proxy::start(server).unwrap();
    let mut client = client(&proxy);
    client.write_all(b"first").unwrap();
    assert_eq!(got.recv().unwrap().unwrap(), b"first");
    proxy.partition();
    client.write_all(b"second").unwrap();
    drop(client);
    got.recv_timeout(SILENCE).unwrap_err();
    proxy.heal().unwrap();
    assert_eq!(got.recv().unwrap().unwrap(), b"second");
    assert_eq!(got.recv().unwrap().unwrap(), b"");
}

#[test]
fn a_cut_resets_both_sides() {
    let (server, got) = recorder();
    let proxy = Proxy::start(server).unwrap();
    let mut client = client(&proxy);
    client.write_all(b"first").unwrap();
    assert_eq!(got.recv().unwrap().unwrap(), b"first");
    proxy.cut().unwrap();
    assert_eq!(proxy.connections(), 0);
    is_reset(&mut client);
    assert_eq!(
        got.recv().unwrap().unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}

#[test]
fn a_cut_reaches_clients_that_were_not_accepted_yet() {
    let (_redis, proxy) = redis_behind_proxy();
    for _ in 0..100 {
        let mut client = client(&proxy);
        proxy.cut().unwrap();
        is_reset(&mut client);
    }
    assert_eq!(say(&mut client(&proxy), "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn refused_clients_are_refused_and_others_stay() {
    let (_redis, proxy) = redis_behind_proxy();
    let mut old = client(&proxy);
    proxy.refuse().unwrap();
    let error = TcpStream::connect(proxy.address()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(say(&mut old, "PING").unwrap(), "+PONG\r\n");
    proxy.cut().unwrap();
    is_reset(&mut old);
    proxy.heal().unwrap();
    assert_eq!(say(&mut client(&proxy), "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn a_request_can_be_cut_in_its_middle() {
    let (server, got) = recorder();
    let proxy = Proxy::start(server).unwrap();
    let mut client = client(&proxy);
    proxy.cut_after(Way::ToServer, 5);
    client.write_all(b"SET a 1\r\n").unwrap();
    is_reset(&mut client);
    assert_eq!(got.recv().unwrap().unwrap(), b"SET a");
    assert_eq!(
        got.recv().unwrap().unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}

#[test]
fn a_connection_can_be_cut_after_the_request_was_applied() {
    let (redis, proxy) = redis_behind_proxy();
    let mut first = client(&proxy);
    proxy.cut_after(Way::ToClient, 0);
    first.write_all(b"SET a 1\r\n").unwrap();
    is_reset(&mut first);
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "1");
    assert_eq!(say(&mut client(&proxy), "SET a 2").unwrap(), "+OK\r\n");
}

#[test]
fn a_dropped_proxy_is_gone() {
    let (_redis, proxy) = redis_behind_proxy();
    let mut client = client(&proxy);
    assert_eq!(say(&mut client, "PING").unwrap(), "+PONG\r\n");
    let address = proxy.address();
    drop(proxy);
    is_reset(&mut client);
    assert_eq!(
        TcpStream::connect(address).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_works_in_a_test_whose_clock_stands_still() {
    let (_redis, proxy) = redis_behind_proxy();
    proxy.set(Way::ToServer, Flow::Delay(Duration::from_millis(50)));
    let mut client = client(&proxy);
    assert_eq!(say(&mut client, "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn silence_is_for_the_connections_there_are() {
    let (redis, proxy) = redis_behind_proxy();
    let mut old = client(&proxy);
    assert_eq!(say(&mut old, "PING").unwrap(), "+PONG\r\n");
    proxy.silence();
    old.write_all(b"PING\r\n").unwrap();
    is_silent(&mut old);
    assert_eq!(say(&mut client(&proxy), "PING").unwrap(), "+PONG\r\n");
    proxy.heal().unwrap();
    is_silent(&mut old);
    proxy.cut().unwrap();
    is_reset(&mut old);
    drop(redis);
}

#[test]
fn what_is_held_back_arrives_after_what_the_client_says_next() {
    let (redis, proxy) = redis_behind_proxy();
    let mut old = client(&proxy);
    assert_eq!(say(&mut old, "PING").unwrap(), "+PONG\r\n");
    proxy.hold_back();
    old.write_all(b"SET a late\r\n").unwrap();
    is_silent(&mut old);
    // It gives up, and asks again.
    drop(old);
    assert_eq!(say(&mut client(&proxy), "SET a soon").unwrap(), "+OK\r\n");
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "soon");
    proxy.heal().unwrap();
    wait::until_true("the late request applied", || {
        redis.command(&["GET", "a"]).unwrap() == "late"
    })
    .unwrap();
}

#[test]
fn requests_with_some_words_in_them_arrive_one_after_the_other_and_late() {
    let (redis, proxy) = redis_behind_proxy();
    proxy.hold_back_words(Some(b"late"));
    for word in ["SET a late1", "SET a late2"] {
        let mut one = client(&proxy);
        assert_eq!(say(&mut one, "PING").unwrap(), "+PONG\r\n");
        let before = proxy.late();
        one.write_all(format!("{word}\r\n").as_bytes()).unwrap();
        wait::until_true("it is held", || proxy.late() > before).unwrap();
    }
    proxy.hold_back_words(None);
    assert_eq!(say(&mut client(&proxy), "SET a later").unwrap(), "+OK\r\n");
    let becomes = |value: &str| {
        wait::until_true("a late request applied", || {
            redis.command(&["GET", "a"]).unwrap() == value
        })
        .unwrap();
    };
    becomes("later");
    proxy.let_one_arrive();
    becomes("late1");
    assert_eq!(proxy.late(), 1);
    proxy.heal().unwrap();
    becomes("late2");
}

#[test]
fn what_follows_an_answer_or_a_request_is_held_back() {
    let (redis, proxy) = redis_behind_proxy();
    let mut one = client(&proxy);
    proxy.hold_back_after(b"-ERR");
    assert_eq!(say(&mut one, "PING").unwrap(), "+PONG\r\n");
    assert!(proxy.is_waiting());
    assert!(say(&mut one, "NONSENSE").unwrap().starts_with("-ERR"));
    assert!(!proxy.is_waiting());
    one.write_all(b"SET a late\r\n").unwrap();
    is_silent(&mut one);
    assert_eq!(say(&mut client(&proxy), "SET a soon").unwrap(), "+OK\r\n");
    proxy.heal().unwrap();
    wait::until_true("the late request applied", || {
        redis.command(&["GET", "a"]).unwrap() == "late"
    })
    .unwrap();
    let mut one = client(&proxy);
    proxy.partition_after_words(b"last", 2);
    assert_eq!(say(&mut one, "SET a first").unwrap(), "+OK\r\n");
    assert_eq!(say(&mut one, "SET last but-one").unwrap(), "+OK\r\n");
    one.write_all(b"SET a last\r\n").unwrap();
    is_silent(&mut one);
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "last");
}
