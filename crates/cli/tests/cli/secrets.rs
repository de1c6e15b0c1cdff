//! Who gets to know the password in a store's URL: none who need not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use super::stores::{Lease, Store};
use super::support::{Home, PATIENCE, bounded, eventually, start, text};

const PASSWORD: &str = "s3cret-of-the-url";

/// A Redis URL with a password that the server takes.
fn secret_url() -> String {
    Store::Redis.admit("keeper", PASSWORD);
    let place = Store::Redis.place().unwrap();
    place.replace("redis://", &format!("redis://keeper:{PASSWORD}@"))
}

fn said(output: &Output) -> String {
    text(&output.stderr)
}

/// Every process below `pid`, with what can be read of its arguments and its
/// environment.
fn below(pid: u32) -> Vec<(u32, String)> {
    let of = |pid: u32, file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let children = |pid: u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let texts =
            tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
        texts
            .collect::<String>()
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect::<Vec<u32>>()
    };
    let mut found = Vec::new();
    let mut left = children(pid);
    while let Some(pid) = left.pop() {
        let mut words = of(pid, "cmdline");
        words.push(b'\n');
        words.extend(of(pid, "environ"));
        found.push((pid, String::from_utf8_lossy(&words).replace('\0', " ")));
        left.extend(children(pid));
    }
    found
}

#[test]
fn neither_the_command_nor_a_guardian_gets_the_password() {
    for words in [
        &["run", "secrets-run"][..],
        &["lead", "secrets-lead"],
        &["schedule", "secrets-schedule", "--every", "1h"],
    ] {
        let home = Home::at(secret_url());
        let mut command = home.tenure(words);
        command.args([
            "--",
            "sh",
            "-c",
            "env > all; mv all environment; exec sleep 1000",
        ]);
        let program = start(&mut command);
        eventually("the command runs", || home.path("environment").exists());
        let environment = fs::read_to_string(home.path("environment")).unwrap();
        assert!(!environment.contains(PASSWORD), "{words:?}: {environment}");
        assert!(
            environment.contains("TENURE_URL_WITHHELD=redis://keeper:***@"),
            "{environment}"
        );
        let processes = below(program.0.id());
        assert!(
            processes.len() >= 3,
            "guardian, witness, command: {processes:?}"
        );
        for (pid, known) in processes {
            assert!(!known.contains(PASSWORD), "{words:?}: {pid} has {known}");
        }
        let own = fs::read(format!("/proc/{}/cmdline", program.0.id())).unwrap();
        assert!(!String::from_utf8_lossy(&own).contains(PASSWORD));
    }
}

#[test]
fn a_program_inside_never_falls_back_to_another_store() {
    let home = Home::at(secret_url());
    for inner in [
        "run b -- true",
        "status",
        "lead b -- true",
        "hold b > told",
        "schedules",
        "doctor",
        "revoke --yes b",
    ] {
        let script = format!("\"$TENURE\" {inner}; echo $?");
        let output = home.output(["run", home.mutex(), "--", "sh", "-c", &script]);
        assert_eq!(text(&output.stdout), "2\n", "{inner}: {output:?}");
        for way in ["--pass-url", "--url-file", "--url"] {
            assert!(said(&output).contains(way), "{inner}: {}", said(&output));
        }
        assert!(!said(&output).contains(PASSWORD));
        assert!(
            !home.path("tenure").exists(),
            "the embedded store was touched"
        );
    }
    // What needs no store is not refused.
    let output = home.output([
        "run",
        home.mutex(),
        "--",
        "sh",
        "-c",
        "\"$TENURE\" completions bash",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn the_url_is_passed_on_when_that_is_asked_for() {
    let home = Home::at(secret_url());
    let inner = "\"$TENURE\" run --wait 10s inner-of-pass -- printenv TENURE_URL";
    let output = home.output(["run", "--pass-url", home.mutex(), "--", "sh", "-c", inner]);
    // It goes one command further only, unless it is asked for again.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let again = "\"$TENURE\" run --pass-url inner-of-pass -- printenv TENURE_URL";
    let output = home.output(["run", "--pass-url", home.mutex(), "--", "sh", "-c", again]);
    assert!(text(&output.stdout).contains(PASSWORD), "{output:?}");

    // From wherever it came.
    let home = Home::new();
    let file = home.path("url");
    fs::write(&file, format!("{}\n", secret_url())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = home.tenure(["run", "--pass-url", home.mutex(), "--", "sh", "-c", again]);
    let output = bounded(command.env("TENURE_URL_FILE", &file));
    assert!(text(&output.stdout).contains(PASSWORD), "{output:?}");
    assert_eq!(said(&output), "");
}

#[test]
fn a_url_without_a_password_is_passed_on_as_it_is() {
    let home = Home::on(Store::Redis, Lease::Usual);
    let inner = "printenv TENURE_URL; \"$TENURE\" run other-of-plain -- printenv TENURE_NAME";
    let output = home.output(["run", home.mutex(), "--", "sh", "-c", inner]);
    let place = Store::Redis.place().unwrap();
    assert_eq!(
        text(&output.stdout),
        format!("{place}\nother-of-plain\n"),
        "{output:?}"
    );
}

#[test]
fn a_password_among_the_arguments_is_warned_of_once() {
    let home = Home::new();
    let words = ["--url", &secret_url(), "run", home.mutex(), "--", "true"];
    let output = home.output(words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        said(&output).matches("list of processes").count(),
        1,
        "{output:?}"
    );
    assert!(said(&output).contains("--url-file") && !said(&output).contains(PASSWORD));
    assert_eq!(said(&home.output(["-q"].iter().chain(&words))), "");
    let from_environment = Home::at(secret_url()).output(["status"]);
    assert!(!said(&from_environment).contains("list of processes"));
}

/// `tenure run` that shows which of the files in its directory it made.
fn opened(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command: Command = home.tenure(words);
    command.envs(variables.iter().copied());
    command.args(["run", "m", "--", "sh", "-c", "ls -- *.db"]);
    let output = bounded(&mut command);
    for file in fs::read_dir(home.path("")).unwrap().flatten() {
        if file.file_name().to_string_lossy().contains(".db") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    (output.status.code(), text(&output.stdout) + &said(&output))
}

#[test]
fn a_url_can_stand_in_a_file() {
    let home = Home::new();
    let write = |name: &str, content: &[u8], mode| {
        fs::write(home.path(name), content).unwrap();
        fs::set_permissions(home.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    write("a", b"  sqlite:a.db \r\nwhat follows is not read\n", 0o600);
    write("b", b"sqlite:b.db", 0o644);
    write("c.toml", b"url = 'sqlite:c.db'", 0o600);
    let ok = |words: &[&str], variables: &[(&str, &str)], wanted: &str| {
        let (code, shown) = opened(&home, words, variables);
        assert_eq!(
            (code, shown.as_str()),
            (Some(0), wanted),
            "{words:?} {variables:?}"
        );
    };
    ok(&["--url-file", "a"], &[], "a.db\n");
    ok(&[], &[("TENURE_URL_FILE", "a")], "a.db\n");
    // Without a secret in it, everybody may read it.
    ok(&["--url-file", "b"], &[], "b.db\n");
    // A flag comes before the environment, and that before the file of --config.
    ok(
        &["--url-file", "a"],
        &[("TENURE_URL", "sqlite:e.db")],
        "a.db\n",
    );
    ok(
        &["--url", "sqlite:f.db"],
        &[("TENURE_URL_FILE", "a")],
        "f.db\n",
    );
    ok(
        &["--config", "c.toml"],
        &[("TENURE_URL_FILE", "a")],
        "a.db\n",
    );
    ok(&["--config", "c.toml", "--url-file", "b"], &[], "b.db\n");

    write("empty", b"\nsqlite:x.db\n", 0o600);
    write("binary", b"sqlite:\xff\n", 0o600);
    write("long", &[b'x'; 100_000], 0o600);
    write("wrong", format!("redis//:{PASSWORD}@h").as_bytes(), 0o600);
    let refused = |words: &[&str], variables: &[(&str, &str)], why: &str| {
        let (code, shown) = opened(&home, words, variables);
        assert_eq!(code, Some(2), "{words:?} {variables:?}: {shown}");
        assert!(
            shown.contains(why) && !shown.contains(PASSWORD),
            "{words:?}: {shown}"
        );
    };
    refused(&["--url-file", "nowhere"], &[], "nowhere");
    refused(&["--url-file", "empty"], &[], "first line");
    refused(&["--url-file", "binary"], &[], "UTF-8");
    refused(&["--url-file", "long"], &[], "too long");
    refused(&["--url-file", "."], &[], "cannot read");
    refused(&["--url-file", "wrong"], &[], "letters, digits");
    refused(&[], &[("TENURE_URL_FILE", "")], "TENURE_URL_FILE");
    refused(
        &["--url", "sqlite:x.db", "--url-file", "a"],
        &[],
        "cannot be used with",
    );
    let both = [("TENURE_URL", "sqlite:x.db"), ("TENURE_URL_FILE", "a")];
    refused(&[], &both, "TENURE_URL_FILE");
}

#[test]
fn a_file_with_a_password_is_not_for_others_to_read() {
    let home = Home::new();
    let url = secret_url();
    let toml = format!("url = '{url}'");
    for (flag, name, content) in [("--url-file", "url", &url), ("--config", "c.toml", &toml)] {
        let file = home.path(name);
        fs::write(&file, content).unwrap();
        // A group is how a secret is shared on purpose; everybody is not.
        for (mode, warns) in [(0o600, false), (0o440, false), (0o644, true), (0o602, true)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let output = home.output([flag, name, "run", home.mutex(), "--", "true"]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let said = said(&output);
            assert_eq!(said.contains("chmod 600"), warns, "{name} {mode:o}: {said}");
            assert!(!said.contains(PASSWORD), "{said}");
        }
    }
    // What a shell makes of <(…).
    let fifo = home.path("fifo");
    assert!(bounded(Command::new("mkfifo").arg(&fifo)).status.success());
    let writer = std::thread::spawn(move || fs::write(fifo, url));
    let output = home.output(["--url-file", "fifo", "run", home.mutex(), "--", "true"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{output:?} within {PATIENCE:?}"
    );
    writer.join().unwrap().unwrap();
}

/// What the driver would take from the environment, and the promises rest on.
#[test]
fn settings_of_a_postgres_session_do_not_come_from_the_environment() {
    let home = Home::on(Store::Postgres, Lease::Usual);
    for options in [
        "-c default_transaction_read_only=on",
        "-c search_path=nowhere",
    ] {
        let mut command = home.tenure(["run", home.mutex(), "--wait", "5s", "--", "true"]);
        let output = bounded(command.env("PGOPTIONS", options));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(said(&output).contains("PGOPTIONS"), "{output:?}");
    }
    // All else of the place is the URL's.
    let mut command = home.tenure(["run", home.mutex(), "--", "printenv", "PGHOST"]);
    for (name, value) in [
        ("PGOPTIONS", " "),
        ("PGHOST", "nowhere.invalid"),
        ("PGHOSTADDR", "192.0.2.1"),
        ("PGPORT", "1"),
        ("PGUSER", "nobody"),
        ("PGDATABASE", "nothing"),
        ("PGSSLMODE", "verify-full"),
    ] {
        command.env(name, value);
    }
    let output = bounded(&mut command);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        text(&output.stdout),
        "nowhere.invalid\n",
        "the command's own"
    );
}

/// With all that the library tells, of what goes well and of what does not.
#[test]
fn nothing_that_is_told_of_the_work_holds_the_password() {
    let wrong = |store: Store| {
        let place = store.place().unwrap();
        let (scheme, rest) = place.split_once("://").unwrap();
        let host = rest.rsplit('@').next().unwrap();
        format!("{scheme}://nobody:{PASSWORD}@{host}")
    };
    let home = Home::at(secret_url());
    let output = home.output(["-vvv", "lead", "--once", home.mutex(), "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for part in ["elected", "resigned", "acquire"] {
        assert!(said(&output).contains(part), "{part}: {}", said(&output));
    }
    assert!(!said(&output).contains(PASSWORD), "{}", said(&output));
    for store in [Store::Redis, Store::MariaDb, Store::Postgres] {
        let home = Home::at(wrong(store));
        let output = home.output(["-vvv", "run", "--wait", "2s", "m", "--", "true"]);
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        assert!(!said(&output).contains(PASSWORD), "{}", said(&output));
    }
}
