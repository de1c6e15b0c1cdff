use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use tenure_testkit::servers::{Redis, RedisCluster, RedisSentinel, wait};

use crate::{drop_removes, kill_refuses, pause_silences};

#[test]
fn redis_lives_through_all_that_can_happen_to_it() {
    let redis = Redis::builder().durable().start().unwrap();
    redis.command(&["SET", "a", "1"]).unwrap();
    pause_silences(&redis, |limit| {
        redis.command_within(&["PING"], limit).map(drop)
    });
    kill_refuses(&redis, redis.address());
    redis.start().unwrap();
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "1");
    redis.stop().unwrap();
    redis.start().unwrap();
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "1");
    redis.restart_empty().unwrap();
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "(nil)");
    drop_removes(redis);
}

#[test]
fn a_redis_that_is_not_durable_forgets() {
    let redis = Redis::start().unwrap();
    redis.command(&["SET", "a", "1"]).unwrap();
    redis.restart().unwrap();
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), "(nil)");
}

#[test]
fn redis_takes_a_password() {
    let redis = Redis::builder().password("secret").start().unwrap();
    assert_eq!(redis.command(&["SET", "a", "1"]).unwrap(), "OK");
    let config = redis.command(&["CONFIG", "GET", "requirepass"]).unwrap();
    assert_eq!(config, "requirepass\nsecret");
}

#[test]
fn redis_takes_an_acl_file_and_a_socket() {
    let users = "user default on >secret ~* &* +@all\nuser reader on >other ~* -@all +get\n";
    let redis = Redis::builder()
        .file("users.acl", users)
        .set("aclfile", "{dir}/users.acl")
        .unix_socket()
        .start()
        .unwrap();
    let stranger = redis.command(&["GET", "a"]).unwrap_err().to_string();
    assert!(stranger.contains("NOAUTH"), "{stranger}");
    let mut socket = UnixStream::connect(redis.socket()).unwrap();
    socket.write_all(b"AUTH reader other\r\n").unwrap();
    let mut answer = [0; 5];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK\r\n");
}

#[test]
fn a_sentinel_replaces_a_killed_master() {
    let redis = RedisSentinel::start().unwrap();
    let [first, second] = redis.nodes();
    assert_eq!(redis.master_port(), Some(first.port()));
    first.kill().unwrap();
    // A server that changes its role drops its clients, so an error is no answer yet.
    let role = |node: &Redis, role| node.command(&["ROLE"]).is_ok_and(|is| is.starts_with(role));
    wait::until_true("a new master", || {
        redis.master_port() == Some(second.port()) && role(second, "master")
    })
    .unwrap();
    first.start().unwrap();
    wait::until_true("the old master following", || role(first, "slave")).unwrap();
}

#[test]
fn a_cluster_sends_clients_to_the_owner_of_a_slot() {
    let cluster = RedisCluster::start().unwrap();
    // `foo` lies in slot 12182, which is the third master's.
    let [first, _, third] = cluster.nodes() else {
        panic!("three masters")
    };
    let moved = first.command(&["SET", "foo", "1"]).unwrap_err().to_string();
    assert_eq!(moved, format!("MOVED 12182 127.0.0.1:{}", third.port()));
    assert_eq!(third.command(&["SET", "foo", "1"]).unwrap(), "OK");
    third.restart().unwrap();
    cluster.wait_ok().unwrap();
    assert_eq!(third.command(&["GET", "foo"]).unwrap(), "1");
}
