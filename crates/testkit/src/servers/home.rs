//! The directory all servers of this process live in, and the watchdog that removes it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::ServerError;

/// Waits until this process is gone, however it went, then kills what it left and cleans up.
///
/// Nothing is ever written to the pipe, so `read` returns when the kernel closes its other end. The
/// directory is renamed first: a server that is just starting can then no longer record its
/// process id and gives up, so none is missed. Removing is tried again because the children of a
/// killed server may live a moment longer and write.
const WATCHDOG: &str = r#"
read -r _
mv "$0" "$0.gone"
for file in "$0.gone"/*/pid; do
    [ -f "$file" ] && kill -s KILL -- "-$(cat "$file")"
done
for again in 1 2 3 4 5 6 7 8 9; do
    rm -rf "$0.gone" && exit
    sleep 0.3
done
"#;

/// What a server is started by: it records its process id, which is the server's too.
pub(super) const RECORD_AND_RUN: &str = r#"echo $$ > "$0.new" && mv "$0.new" "$0" && exec "$@""#;

#[derive(Debug)]
struct Home {
    root: PathBuf,
    next: AtomicU32,
    // Closed by the kernel when this process ends; the watchdog waits for that.
    _watched: ChildStdin,
}

/// Makes a new directory for a server, owned by the user it will run as.
pub(super) fn directory(kind: &str) -> Result<PathBuf, ServerError> {
    static HOME: OnceLock<Result<Home, ServerError>> = OnceLock::new();
    let home = HOME.get_or_init(open).as_ref().map_err(Clone::clone)?;
    let number = home.next.fetch_add(1, Ordering::Relaxed);
    let directory = home.root.join(format!("{kind}-{number}"));
    fs::create_dir(&directory)
        .and_then(|()| give(&directory, 0o700))
        .map_err(ServerError::doing(directory.display()))?;
    Ok(directory)
}

fn open() -> Result<Home, ServerError> {
    let root = tempfile::Builder::new()
        .prefix("tenure-servers-")
        .tempdir()
        .map_err(ServerError::doing("making a temporary directory"))?
        .keep();
    // The servers' user must be able to pass through.
    fs::set_permissions(&root, fs::Permissions::from_mode(0o711))?;
    let mut watchdog = Command::new("sh")
        .args(["-c", WATCHDOG])
        .arg(&root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // Out of reach of the terminal's Ctrl-C, which is when it is needed.
        .process_group(0)
        .spawn()
        .map_err(ServerError::doing("starting sh"))?;
    let watched = watchdog.stdin.take().expect("the pipe was asked for");
    Ok(Home {
        root,
        next: AtomicU32::new(0),
        _watched: watched,
    })
}

/// The user servers run as when the tests run as root: PostgreSQL and MariaDB refuse to be root.
pub(super) fn servant() -> Option<(u32, u32)> {
    rustix::process::getuid().is_root().then(|| {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let nobody = passwd.lines().find_map(|line| {
            let mut fields = line.strip_prefix("nobody:")?.split(':').skip(1);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        });
        nobody.unwrap_or((65534, 65534))
    })
}

/// Gives a file to the servers' user, and to no other.
pub(super) fn give(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    match servant() {
        Some((user, group)) => chown(path, Some(user), Some(group)),
        None => Ok(()),
    }
}

/// A command that will run as the servers' user in the given directory.
pub(super) fn command(program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null());
    if let Some((user, group)) = servant() {
        command.uid(user).gid(group);
    }
    command
}

/// Copies what is in one directory into another.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), ServerError> {
    let mut cp = command("cp", to);
    cp.arg("-Rp").arg(from.join(".")).arg(to);
    run(cp).map(drop)
}

/// Runs a tool of a server to its end, as the servers' user.
pub(super) fn run(mut command: Command) -> Result<String, ServerError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(ServerError::doing(&name))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    Err(ServerError::new(format!(
        "{name} failed ({}):\n{out}{err}",
        output.status
    )))
}
