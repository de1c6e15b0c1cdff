//! Redis.

use tenure_testkit::servers::Redis;

use super::snippets::raw;
use super::{NEW, OLD};

#[test]
fn an_old_owner_is_refused() {
    let server = Redis::start().unwrap();
    let command = |words: &[&str]| server.command(words).unwrap();
    let script = raw("redis");
    let write = |value, token| {
        let keys = ["{account:1}", "{account:1}:fence"];
        command(&["EVAL", script, "2", keys[0], keys[1], token, value])
    };
    assert_eq!(write("90", "7"), "1");
    assert_eq!(write("80", OLD), "1");
    assert_eq!(write("60", NEW), "1");
    assert_eq!(write("0", OLD), "0", "the old owner woke up");
    assert_eq!(write("0", "8"), "0", "fewer digits are a smaller number");
    assert_eq!(write("50", NEW), "1", "the same owner again");
    assert_eq!(command(&["GET", "{account:1}"]), "50");
    assert_eq!(command(&["GET", "{account:1}:fence"]), NEW);
}
