//! Which store a hold uses, and what the rest of the script uses after it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use tenure_testkit::servers::Redis;

use super::super::support::{Home, bounded, code, eventually, start};
use super::{WAIT, go, helpers, nobody_is_left, script};

/// What can be read only once is read once.
#[test]
fn settings_may_come_through_a_pipe() {
    let here = "url=sqlite:$PWD/piped.db";
    let toml = "<(echo \"url = 'sqlite:$PWD/piped.db'\"; echo \"ttl = '7s'\")";
    for (before, flags) in [
        (here, "--url-file <(echo \"$url\")"),
        (here, "--url-file fifo"),
        ("url=sqlite:$PWD/piped.db; export TENURE_URL_FILE=fifo", ""),
        (here, &format!("--config {toml}")),
    ] {
        let home = Home::new();
        let text = format!(
            "{before}; mkfifo fifo; [[ '{before} {flags}' != *fifo* ]] || echo \"$url\" > fifo & \
             eval \"$(\"$TENURE\" hold {flags} \"$M\")\"; unset TENURE_URL TENURE_URL_FILE; \
             \"$TENURE\" --url \"$url\" run -n \"$M\" -- true; echo $?; \"$TENURE\" release; echo $?"
        );
        let output = bounded(&mut script(&home, "bash", &text));
        assert_eq!(
            super::text(&output.stdout),
            "75\n0\n",
            "{before} {flags}: {output:?}"
        );
        assert!(!home.path("tenure").exists(), "another store was used");
        nobody_is_left(&home);
    }
}

/// The lock means nothing to a `tenure` that asks another store.
#[test]
fn the_rest_of_the_script_uses_the_same_store() {
    let home = Home::new();
    fs::write(home.path("url"), "sqlite:other.db\n").unwrap();
    let text = "eval \"$(\"$TENURE\" hold --url-file url \"$M\")\"; mkdir -p sub; cd sub; \
                \"$TENURE\" run -n \"$M\" -- true; echo $?; \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "75\n0\n", "{output:?}");
    assert!(!home.path("tenure").exists(), "another store was used");
    // What the script itself names is left to it, also where a flag names another.
    let text = "export TENURE_URL=sqlite:mine.db; eval \"$(\"$TENURE\" hold --url-file url \"$M\")\"; \
                echo \"$TENURE_URL\"; \"$TENURE\" release";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "sqlite:mine.db\n");
    let text = "export TENURE_URL_FILE=url; eval \"$(\"$TENURE\" hold \"$M\")\"; \
                echo \"${TENURE_URL-none}\"; \"$TENURE\" release";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "none\n");
    // The embedded store needs no name.
    let text =
        "eval \"$(\"$TENURE\" hold \"$M\")\"; echo \"${TENURE_URL-none}\"; \"$TENURE\" release";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "none\n");
}

/// Neither in arguments nor in an environment that others of this user, or
/// the list of processes, can show.
#[test]
fn nobody_of_a_hold_shows_the_password() {
    const PASSWORD: &str = "s3cret-of-the-hold";
    let server = Redis::start().unwrap();
    let words = [
        "ACL",
        "SETUSER",
        "holder",
        "on",
        &format!(">{PASSWORD}"),
        "~*",
        "&*",
        "+@all",
    ];
    server.command(&words).unwrap();
    let url = format!("redis://holder:{PASSWORD}@{}", server.address());
    for way in ["TENURE_URL", "--url", "--url-file"] {
        let home = Home::new();
        fs::write(home.path("url"), &url).unwrap();
        fs::set_permissions(home.path("url"), fs::Permissions::from_mode(0o600)).unwrap();
        let flag = match way {
            "--url" => "--url \"$(cat url)\"",
            "--url-file" => "--url-file url",
            _ => "",
        };
        let text = format!(
            "eval \"$(\"$TENURE\" hold {flag} \"$M\")\"; printenv TENURE_URL_WITHHELD > withheld; \
             \"$TENURE\" status > /dev/null; echo $? > inside; echo > held; {WAIT}; \"$TENURE\" release"
        );
        let mut shell = script(&home, "sh", &text);
        if way == "TENURE_URL" {
            shell.env("TENURE_URL", &url);
        }
        let mut shell = start(shell.stderr(fs::File::create(home.path("said")).unwrap()));
        home.line("held");
        let all = [
            helpers(&home, "__holder"),
            helpers(&home, "__guardian\0script"),
        ]
        .concat();
        assert_eq!(all.len(), 3, "{way}");
        for pid in all {
            for file in ["cmdline", "environ"] {
                let path = format!("/proc/{}/{file}", pid.as_raw_pid());
                let shown = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
                assert!(!shown.contains(PASSWORD), "{way}: {file} has {shown:?}");
            }
        }
        let said = fs::read_to_string(home.path("said")).unwrap();
        assert!(!said.contains(PASSWORD), "{said}");
        if way == "TENURE_URL" {
            assert_eq!(home.line("inside"), "0", "the script's own is the script's");
        } else {
            assert!(home.line("withheld").starts_with("redis://holder:***@"));
            assert_eq!(home.line("inside"), "2", "{said}");
            assert!(!home.path("tenure").exists(), "another store was used");
        }
        go(&home);
        assert_eq!(code(&mut shell.0), Some(0), "{way}: {said}");
    }
}

/// Words that are not read must not keep the holder from renewing.
#[test]
fn an_outage_that_nobody_hears_of_costs_no_lock() {
    for verbose in ["", "-vvv"] {
        let server = Redis::builder().durable().start().unwrap();
        let home = Home::at(format!(
            "redis://{}?ttl=2s&transition=28s",
            server.address()
        ));
        // As much as a pipe holds.
        let text = format!(
            "head -c 65536 /dev/zero >&2; eval \"$(\"$TENURE\" hold {verbose} \"$M\")\"; echo > held; \
             {WAIT}; \"$TENURE\" release 2> /dev/null; echo $? > code"
        );
        let mut shell = script(&home, "sh", &text);
        let mut shell = start(shell.stderr(Stdio::piped()));
        home.line("held");
        server.kill().unwrap();
        // Long enough for renewals to fail, and far shorter than the lease.
        std::thread::sleep(Duration::from_secs(2));
        server.start().unwrap();
        let key = format!("simba:{{{}}}", home.mutex());
        let left = || server.command(&["PTTL", &key]).unwrap();
        let left = || left().trim().parse::<i64>().unwrap();
        let mut before = i64::MAX;
        eventually("the lock is renewed", || {
            let now = left();
            std::mem::replace(&mut before, now) < now
        });
        go(&home);
        assert_eq!(home.line("code"), "0", "{verbose}");
        assert_eq!(code(&mut shell.0), Some(0), "not killed");
        nobody_is_left(&home);
    }
}
