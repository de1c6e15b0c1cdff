//! What others have damaged, and what is not used any more.

use serde_json::Value;
use tenure_testkit::servers::Redis;

use super::support::{Home, start, text};

#[test]
fn one_damaged_mutex_hides_no_other_and_can_be_mended() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let _holder = start(
        home.tenure(["run", "good", "--", "sh", "-c", "echo > held; exec cat"])
            .stdin(std::process::Stdio::piped()),
    );
    home.line("held");
    server.command(&["HSET", "simba:{bad}", "a", "1"]).unwrap();
    let evil = "simba:{\x1b[2J}";
    server
        .command(&["SET", evil, "0:1@h", "PX", "600000"])
        .unwrap();

    let shown = home.output(["status"]);
    assert_eq!(
        shown.status.code(),
        Some(65),
        "something is damaged: {shown:?}"
    );
    let (out, err) = (text(&shown.stdout), text(&shown.stderr));
    assert!(out.contains("good") && out.contains("bad"), "{out}");
    assert!(err.contains("bad is damaged: another program"), "{err}");
    assert!(!out.contains('\x1b') && !err.contains('\x1b'), "{out}{err}");

    let scans = || {
        server
            .command(&["INFO", "commandstats"])
            .unwrap()
            .contains("cmdstat_scan")
    };
    server.command(&["CONFIG", "RESETSTAT"]).unwrap();
    let named = home.output(["status", "good"]);
    assert_eq!(named.status.code(), Some(0));
    assert!(!scans(), "one that is named is looked up alone");
    let told = home.output(["status", "bad", "--output", "json"]);
    let row: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(
        row["owner"].is_null() && row["fault"].as_str().unwrap().contains("owner"),
        "{row}"
    );

    let refused = home.output(["run", "bad", "--", "true"]);
    assert_eq!(
        refused.status.code(),
        Some(78),
        "not for ever, and no wrong usage"
    );
    for name in ["bad", "\x1b[2J"] {
        let mended = home.output(["revoke", "--yes", name]);
        assert_eq!(mended.status.code(), Some(0), "{mended:?}");
        assert!(
            text(&mended.stderr).contains("has been mended"),
            "{mended:?}"
        );
    }
    assert_eq!(
        home.output(["run", "bad", "--", "true"]).status.code(),
        Some(0)
    );
    assert_eq!(home.output(["status"]).status.code(), Some(0));
}

#[test]
fn what_nobody_uses_is_removed_by_request() {
    let home = Home::new();
    assert_eq!(
        home.output(["run", "m", "--", "true"]).status.code(),
        Some(0)
    );
    let wrong = home.output(["prune", "--unused-for", "soon"]);
    assert_eq!(wrong.status.code(), Some(2));
    let none = home.output(["prune", "--unused-for", "1d", "--output", "json"]);
    assert_eq!(text(&none.stdout).trim(), r#"{"mutexes":0,"schedules":0}"#);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let gone = home.output(["prune", "--unused-for", "10ms"]);
    assert!(
        text(&gone.stderr).contains("removed 1 mutex and 0 schedules"),
        "{gone:?}"
    );
}
