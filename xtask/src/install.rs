//! Installing the missing programs from Debian's packages.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::system::Privilege;

const SCRIPT: &str = include_str!("install.sh");
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs the packages, after saying so.
///
/// # Errors
///
/// Why it did not work, for the user.
pub(crate) fn install(packages: &[&str], privilege: Privilege) -> Result<(), String> {
    let how = match privilege {
        Privilege::Root => "apt-get",
        Privilege::Sudo => "sudo apt-get",
    };
    println!(
        "xtask: installing with {how}, services not started: {}",
        packages.join(" ")
    );
    let shell = match privilege {
        Privilege::Root => Command::new("sh"),
        Privilege::Sudo => {
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "sh"]);
            sudo
        }
    };
    match run(shell, Path::new(POLICY), packages) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the installation failed ({status})")),
        Err(error) => Err(format!("the installation could not be started: {error}")),
    }
}

fn run(mut shell: Command, policy: &Path, packages: &[&str]) -> io::Result<ExitStatus> {
    shell
        .args(["-c", SCRIPT, "install"])
        .arg(policy)
        .args(packages)
        .stdin(Stdio::null())
        .status()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
