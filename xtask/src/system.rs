//! What this machine is, and whether packages may be installed on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The right with which apt may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    Root,
    /// `sudo` that asks for no password.
    Sudo,
}

/// The privilege to install Debian packages here.
///
/// # Errors
///
/// Why there is none, for the user.
pub(crate) fn apt_privilege() -> Result<Privilege, String> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !is_debian_like(&release) {
        return Err("this system is neither Debian nor Ubuntu".to_owned());
    }
    if find_in(&search_path(), "apt-get").is_none() {
        return Err("there is no apt-get".to_owned());
    }
    if is_root() {
        return Ok(Privilege::Root);
    }
    let sudo = Command::new("sudo")
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match sudo {
        Ok(status) if status.success() => Ok(Privilege::Sudo),
        _ => Err("this user is not root and has no sudo without a password".to_owned()),
    }
}

/// From the text of `/etc/os-release`: Debian, Ubuntu, or something derived from them.
fn is_debian_like(release: &str) -> bool {
    release
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| matches!(key.trim(), "ID" | "ID_LIKE"))
        .flat_map(|(_, value)| value.trim().trim_matches(['"', '\'']).split_whitespace())
        .any(|id| matches!(id, "debian" | "ubuntu"))
}

/// The effective user, without a call that only `unsafe` code can make.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Where cargo builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.map_or_else(|| root.join("target"), |named| root.join(named))
}

/// Whether every user may enter the directory, and those above it.
pub(crate) fn is_open_to_all(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let may = |path: &Path| fs::metadata(path).is_ok_and(|d| d.permissions().mode() & 0o1 != 0);
    directory.ancestors().all(may)
}

/// The directories of `PATH`.
pub(crate) fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map_or_else(Vec::new, |path| std::env::split_paths(&path).collect())
}

/// The first file of that name in these directories.
pub(crate) fn find_in(dirs: &[PathBuf], program: &str) -> Option<PathBuf> {
    dirs.iter()
        .filter(|dir| *dir != Path::new(""))
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn debian_and_what_derives_from_it_is_recognised() {
        assert!(is_debian_like(
            "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"
        ));
        assert!(is_debian_like("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(is_debian_like("ID=pop\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(is_debian_like("ID='linuxmint'\nID_LIKE='ubuntu'\n"));
    }

    #[test]
    fn other_systems_are_not_debian() {
        assert!(!is_debian_like("ID=fedora\nHOME_URL=https://debian.org/\n"));
        assert!(!is_debian_like(
            "ID=\"rhel\"\nID_LIKE=\"fedora\"\nNAME=debian\n"
        ));
        assert!(!is_debian_like(""));
    }

    #[test]
    fn a_program_is_found_in_the_first_directory_that_has_it() {
        let dir = Scratch::new("find-in");
        let program = dir.write("second/tool", "");
        let dirs = ["", "first", "second"].map(|d| dir.path().join(d));
        assert_eq!(find_in(&dirs, "tool"), Some(program));
        assert_eq!(find_in(&dirs, "absent"), None);
        assert_eq!(find_in(&[], "tool"), None);
    }
}
