//! The dashboard of a store that takes longer to list than a person waits.

use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_testkit::servers::{Flow, Proxy, Redis, Way};

use super::dashboard::{Server, serving};
use super::support::{Home, PATIENCE};

const COUNT: usize = 30_000;

/// So many mutexes as their owners would have made them, three keys each.
pub(super) fn fill(server: &Redis, count: usize) {
    let script = "for at = tonumber(ARGV[1]), tonumber(ARGV[2]) do \
         local key = string.format('simba:{job-%05d}', at) \
         redis.call('SET', key, '0:1@h', 'PX', 900000) \
         redis.call('SET', key .. ':grant', '1790000000000000 ff', 'PX', 900000) \
         redis.call('SET', key .. ':fence', '1790000000000000') end";
    for from in (1..=count).step_by(5_000) {
        let to = (from + 4_999).min(count);
        let (from, to) = (from.to_string(), to.to_string());
        server.command(&["EVAL", script, "0", &from, &to]).unwrap();
    }
}

/// What it tells; nothing for a 503.
fn asked(server: &Server) -> Option<Value> {
    let start = Instant::now();
    let answer = server.get("/api/v1/mutexes?limit=1");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(start.elapsed() < PATIENCE, "{:?}: {head}", start.elapsed());
    let told = head.starts_with("HTTP/1.1 200");
    told.then(|| serde_json::from_str(body).unwrap())
}

fn until(server: &Server, what: &str, is_so: impl Fn(&Value) -> bool) {
    let end = Instant::now() + PATIENCE * 4;
    loop {
        let told = asked(server);
        if told.as_ref().is_some_and(&is_so) {
            return;
        }
        assert!(Instant::now() < end, "never: {what}: {told:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_store_whose_first_page_takes_longer_than_anybody_waits_is_shown_all_the_same() {
    let redis = Redis::start().unwrap();
    fill(&redis, COUNT);
    // Each answer comes this much later, as from afar: eighteen SCANs, one
    // after the other, are more than a person waits for.
    let far = Proxy::start(redis.address()).unwrap();
    let home = Home::new();
    let url = format!("redis://127.0.0.1:{}", far.port());
    let words = ["--url", &url, "dashboard", "--listen", "127.0.0.1:0"];
    let server = serving(home.tenure(&words));
    far.set(Way::ToClient, Flow::Delay(Duration::from_millis(400)));
    // It goes on between two who ask: some, marked, and then all.
    until(&server, "some of them, marked", |told| {
        told["total"].as_u64() > Some(0) && told["cut"].is_string()
    });
    until(&server, "all of them", |told| {
        told["total"] == COUNT && told["cut"].is_null()
    });
    // The next look takes as long: meanwhile it is told how old this is.
    until(&server, "an age", |told| {
        assert_eq!(told["total"], COUNT, "{told}");
        told["cut"].is_null() && told["age_ms"].as_u64() > Some(5_000)
    });
}
