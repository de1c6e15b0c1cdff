//! The installation script, run with an apt-get that only writes down what it sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::scratch::Scratch;

/// Notes its arguments, and what policy-rc.d answers while packages are being installed.
const APT: &str = "#!/bin/sh
dir=$(dirname \"$0\")
echo \"$*\" >>\"$dir/calls\"
case \"$*\" in *install*)
    code=0; \"$dir/policy-rc.d\" mariadb start || code=$?
    echo \"policy $code\" >>\"$dir/calls\";;
esac
case \"$*\" in *\"$(cat \"$dir/fails\" 2>/dev/null || echo never)\"*) exit 100;; esac
";

struct Machine {
    dir: Scratch,
}

impl Machine {
    fn new(name: &str) -> Self {
        let machine = Self {
            dir: Scratch::new(name),
        };
        machine.program("apt-get", APT);
        machine
    }

    fn program(&self, file: &str, text: &str) -> PathBuf {
        let path = self.dir.write(file, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    fn policy(&self) -> PathBuf {
        self.dir.path().join("policy-rc.d")
    }

    /// Whether it worked, and what apt-get saw.
    fn install(&self) -> (bool, Vec<String>) {
        let mut shell = Command::new("sh");
        shell.env(
            "PATH",
            format!("{}:/usr/bin:/bin", self.dir.path().display()),
        );
        shell.stderr(Stdio::null());
        let status = run(shell, &self.policy(), &["zookeeper", "redis-server"]).expect("sh runs");
        let calls = fs::read_to_string(self.dir.path().join("calls")).expect("apt-get was called");
        (status.success(), calls.lines().map(str::to_owned).collect())
    }
}

const EXPECTED: [&str; 3] = [
    "-q update",
    "-q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove \
     zookeeper redis-server",
    "policy 101",
];

#[test]
fn services_are_kept_from_starting_only_during_the_installation() {
    let machine = Machine::new("install-plain");
    assert_eq!(
        machine.install(),
        (true, EXPECTED.map(str::to_owned).to_vec())
    );
    assert!(!machine.policy().exists());
}

#[test]
fn a_failed_installation_leaves_no_policy_behind() {
    let machine = Machine::new("install-fails");
    machine.dir.write("fails", "install");
    assert!(!machine.install().0);
    assert!(!machine.policy().exists());
}

#[test]
fn a_failed_update_does_not_prevent_the_installation() {
    let machine = Machine::new("install-stale");
    machine.dir.write("fails", "update");
    assert_eq!(
        machine.install(),
        (true, EXPECTED.map(str::to_owned).to_vec())
    );
}

#[test]
fn a_policy_that_denies_services_is_left_alone() {
    let machine = Machine::new("install-denied");
    let policy = machine.program("policy-rc.d", "#!/bin/sh\nexit 101\n");
    let before = fs::metadata(&policy)
        .and_then(|m| m.modified())
        .expect("a time");
    assert_eq!(
        machine.install(),
        (true, EXPECTED.map(str::to_owned).to_vec())
    );
    assert_eq!(
        fs::metadata(&policy)
            .and_then(|m| m.modified())
            .expect("a time"),
        before
    );
}

#[test]
fn a_policy_that_allows_services_is_put_aside_and_restored() {
    let text = "#!/bin/sh\nexit 0\n";
    for fails in ["never", "install"] {
        let machine = Machine::new(&format!("install-allowed-{fails}"));
        machine.program("policy-rc.d", text);
        machine.dir.write("fails", fails);
        assert_eq!(machine.install().1, EXPECTED);
        assert_eq!(
            fs::read_to_string(machine.policy()).expect("the old policy"),
            text
        );
        assert!(
            !machine
                .dir
                .path()
                .join("policy-rc.d.before-tenure")
                .exists()
        );
    }
}

#[test]
fn what_a_killed_run_left_is_cleaned_up() {
    let machine = Machine::new("install-killed");
    let mark = SCRIPT
        .lines()
        .find_map(|line| line.strip_prefix("mark='"))
        .expect("the mark");
    let mark = mark.trim_end_matches('\'');
    machine.program("policy-rc.d", &format!("#!/bin/sh\n{mark}\nexit 101\n"));
    machine.program("policy-rc.d.before-tenure", "#!/bin/sh\nexit 0\n");
    assert!(machine.install().0);
    let restored = fs::read_to_string(machine.policy()).expect("the old policy");
    assert_eq!(restored, "#!/bin/sh\nexit 0\n");
}
