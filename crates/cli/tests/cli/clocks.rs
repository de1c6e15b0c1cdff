//! Wall clocks that show anything, and few files: an answer or an error, and
//! never a panic.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tenure_testkit::servers::find::Server;

use super::stores::{Lease, Store};
use super::support::{Home, bounded, start, text};

/// Before 1970, at its beginning, at the end of 32 bits, at the end of four
/// digits, and after it; as libfaketime wants them.
const TIMES: [&str; 6] = [
    "-70y",
    "@1970-01-01 00:00:01",
    "@2038-01-19 03:14:07",
    "@9999-12-31 23:59:58",
    "+8000y",
    "+250000y",
];

/// Codes that the manual explains.
const CODES: [i32; 12] = [0, 1, 2, 65, 69, 71, 73, 75, 76, 77, 78, 143];

fn at(time: &str, command: &mut Command) {
    let library = Server::Faketime.find("libfaketime.so.1").unwrap();
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME", time)
        .env("TZ", "UTC")
        .env("DONT_FAKE_MONOTONIC", "1");
}

fn assert_sound(what: &str, output: &Output) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(!said.contains("panicked"), "{what}: {said}");
    let code = output.status.code();
    assert!(
        code.is_some_and(|code| CODES.contains(&code)),
        "{what}: {code:?}: {said}"
    );
}

/// Each command inside a run that holds a lock, with its code after it.
const SCRIPT: &str = r#"
    says() { "$TENURE" "$@"; echo "code $?: $*"; }
    says status
    says status --output json
    says run -n "$1" -- true
    says doctor
    says doctor --output json
    says run --once-per 1h "$1-once" -- printenv TENURE_TOKEN
    says run --once-per 1h "$1-once" -- true
    says lead --once "$1-lead" -- true
    says prune --unused-for 1d
    says init
    ( eval "$("$TENURE" hold "$1-hold")"; says release ); echo "code $?: hold"
    says schedule --preview 3 --every 1h
    says schedule --preview 3 --cron "0 4 29 2 *" --tz Europe/Zurich
    says schedule --preview 3 --cron "* * * * *" --output json
    says revoke --yes "$1-lead"
    "$TENURE" watch --output json "$1" > seen & job=$!
    while [ ! -s seen ] && kill -0 $job 2>/dev/null; do sleep 0.1; done
    kill $job 2>/dev/null; wait $job; echo "code $?: watch"; cat seen
    for when in "--every 1s" "--delay 1s" "--cron *_*_*_*_*_*"; do
        set -f; IFS=' '; set -- "$1" $when
        rm -f due
        when=$(echo "$3" | tr _ ' ')
        "$TENURE" schedule "$1$2" "$2" "$when" -- sh -c 'echo $TENURE_DUE > due' & job=$!
        # After the year 9999 no expression comes true any more.
        looks=300; [ "$2" = --cron ] && looks=30
        while [ ! -s due ] && kill -0 $job 2>/dev/null && [ $looks -gt 0 ]; do
            sleep 0.1; looks=$((looks - 1))
        done
        kill $job 2>/dev/null; wait $job; echo "code $?: schedule $2: $(cat due 2>/dev/null)"
    done
    says schedules
    says schedules --output json
    says schedules "$1--every"
"#;

fn at_every_time(store: Store) {
    for time in TIMES {
        let home = match store {
            Store::Sqlite => Home::new(),
            store => Home::on(store, Lease::Usual),
        };
        let mut command = home.tenure(["run", home.mutex(), "--", "sh", "-c", SCRIPT, "sh"]);
        command.arg(home.mutex());
        at(time, &mut command);
        let output = bounded(&mut command);
        assert_sound(time, &output);
        let said = text(&output.stdout);
        let ran = |when: &str| {
            let line = format!("code 143: schedule {when}: ");
            let rest = said.lines().find_map(|said| said.strip_prefix(&line));
            rest.is_some_and(|due| !due.is_empty())
        };
        let codes: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("code "))
            .collect();
        assert_eq!(codes.len(), 23, "{time}: {output:?}");
        for line in codes {
            let code = line.split([' ', ':']).nth(1).unwrap().parse().unwrap();
            assert!(CODES.contains(&code), "{time}: {line}: {output:?}");
        }
        assert!(
            said.contains("\"event\":\"acquired\""),
            "{time}: {output:?}"
        );
        assert!(
            said.lines().any(|line| line == "code 0: status"),
            "{time}: {output:?}"
        );
        for line in ["hold", "schedules", "schedules --output json"] {
            let line = format!("code 0: {line}");
            assert!(said.lines().any(|said| said == line), "{time}: {output:?}");
        }
        assert!(ran("--every") && ran("--delay"), "{time}: {output:?}");
        dashboard(&home, time);
    }
}

fn dashboard(home: &Home, time: &str) {
    let mut command = home.tenure(["dashboard", "--listen", "127.0.0.1:0"]);
    at(time, &mut command);
    let mut process = start(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .write_all(b"GET /api/v1/mutexes HTTP/1.1\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    // HTTP has no dates before 1970 and after 9999.
    let has_no_date =
        answer.starts_with("HTTP/1.1 503") && answer.contains("the clock of this host");
    assert!(
        answer.starts_with("HTTP/1.1 200") || has_no_date,
        "{time}: {answer}"
    );
}

#[test]
fn any_wall_clock_will_do_on_a_file() {
    at_every_time(Store::Sqlite);
}

#[test]
fn any_wall_clock_will_do_beside_a_server() {
    at_every_time(Store::Redis);
}

#[test]
fn a_wall_clock_behind_the_store_is_no_trouble() {
    let home = Home::new();
    let inner = "for time in -70y '@1970-01-01 00:00:01' +8000y; do \
                 LD_PRELOAD=$FAKE DONT_FAKE_MONOTONIC=1 FAKETIME=$time \"$TENURE\" status --output json \
                 || exit 9; done";
    let mut command = home.tenure(["run", home.mutex(), "--", "sh", "-c", inner]);
    command.env("FAKE", Server::Faketime.find("libfaketime.so.1").unwrap());
    let output = bounded(&mut command);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout);
    assert_eq!(
        said.matches("\"since\":null").count(),
        2,
        "there is no such date: {said}"
    );
}

#[test]
fn with_few_files_there_is_an_error_and_no_panic() {
    for store in [Store::Sqlite, Store::Redis] {
        let home = Home::on(store, Lease::Usual);
        let name = home.mutex();
        let commands = [
            format!("run {name} -- true"),
            format!("run --once-per 1h {name} -- true"),
            format!("lead --fail-fast --once {name} -- true"),
            "status".to_owned(),
            "doctor".to_owned(),
            format!("revoke --yes {name}"),
            "prune --unused-for 1d".to_owned(),
            "init".to_owned(),
            "schedules".to_owned(),
            format!("hold {name}"),
        ];
        for files in (4..=12).chain([14, 16, 20, 24]) {
            for words in &commands {
                let mut command = home.command("sh");
                let limited =
                    format!("ulimit -n {files}; exec timeout -s TERM 60 \"$TENURE\" {words}");
                // A shell has its own use for files.
                let script = match words.starts_with("hold") {
                    true => format!("eval \"$({limited})\""),
                    false => limited,
                };
                let output = bounded(command.args(["-c", &script]));
                let what = format!("{store:?}, {files} files, {words}");
                assert_sound(&what, &output);
                if files <= 9 {
                    assert_eq!(output.status.code(), Some(71), "{what}: {output:?}");
                    assert!(
                        text(&output.stderr).contains("ulimit -n"),
                        "{what}: {output:?}"
                    );
                }
            }
        }
        for words in [
            "demo",
            "dashboard",
            "watch m",
            "schedule m --every 1h -- true",
        ] {
            for files in 4..=9 {
                let mut command = home.command("sh");
                let script =
                    format!("ulimit -n {files}; exec timeout -s TERM 60 \"$TENURE\" {words}");
                let output = bounded(command.args(["-c", &script]));
                assert_eq!(
                    output.status.code(),
                    Some(71),
                    "{words} {files}: {output:?}"
                );
            }
        }
    }
}
