//! Servers other than those of the system: `cargo xtask test --servers newest`.
//!
//! Debian's newer suites have them. Their packages are never installed: each server is unpacked
//! into a directory of its own under `target/servers`, together with the libraries that it needs,
//! down to the C library, and started by that directory's loader. No root is needed.

mod apt;
mod collection;
mod launchers;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::areas::{self, Area};
use crate::find::Server;
use crate::programs::Program;
use crate::system;
use apt::Apt;
pub(crate) use collection::Collection;
use collection::Unpacked;

/// Where a server was put, for the variable that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provided {
    pub(crate) server: Server,
    pub(crate) program: PathBuf,
}

impl Provided {
    /// Whether the system need not have this.
    pub(crate) fn replaces(&self, program: Program) -> bool {
        program == Program::Server(self.server)
            || self.server == Server::MySql && program == Program::Server(Server::MariaDb)
    }

    /// What tells the launchers of it.
    pub(crate) fn variable(&self) -> (String, PathBuf) {
        (self.server.variable(), self.program.clone())
    }
}

/// Which servers take the place of the system's: none without a collection.
///
/// # Errors
///
/// Why they cannot be had, for the user.
pub(crate) fn provide(
    root: &Path,
    collection: Option<Collection>,
    areas: &[Area],
) -> Result<Vec<Provided>, String> {
    let Some(collection) = collection else {
        return Ok(Vec::new());
    };
    let place = system::target(root).join("servers");
    // Only what these areas start.
    let needs = areas::needs(areas);
    let mut provided = Vec::new();
    for unpacked in collection.servers() {
        let one = Provided {
            server: unpacked.server,
            program: place.join(unpacked.name()).join(unpacked.program),
        };
        if needs.iter().any(|need| one.replaces(*need)) {
            ready(&place, unpacked)?;
            provided.push(one);
        }
    }
    Ok(provided)
}

/// Fetches what is not there yet, and says what there is.
fn ready(place: &Path, unpacked: &Unpacked) -> Result<(), String> {
    let directory = place.join(unpacked.name());
    let said = directory.join("packages");
    // Two runs at once fetch it once. The lock goes with the file.
    fs::create_dir_all(place).map_err(trouble(place))?;
    let lock = File::create(place.join("lock")).map_err(trouble(place))?;
    lock.lock().map_err(trouble(place))?;
    if !said.is_file() {
        fetch(place, &directory, unpacked)?;
    }
    let packages = fs::read_to_string(&said).map_err(trouble(&said))?;
    println!(
        "xtask: {} of {}, in {} (remove it to fetch it anew)",
        packages.lines().next().unwrap_or("a server"),
        unpacked.suite,
        directory.display()
    );
    Ok(())
}

/// Fetches and unpacks into `directory`, which appears only when it is whole.
fn fetch(place: &Path, directory: &Path, unpacked: &Unpacked) -> Result<(), String> {
    let half = directory.with_extension("half");
    for old in [&half, directory] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(trouble(old))?;
        }
    }
    fs::create_dir_all(&half).map_err(trouble(&half))?;
    let apt = Apt::open(&place.join("apt"))?;
    let packages = apt.needed(unpacked.suite, unpacked.packages)?;
    println!(
        "xtask: fetching {} packages of Debian {}, none is installed: {} and libraries",
        packages.len(),
        unpacked.suite,
        unpacked.packages.join(", ")
    );
    let archives = half.join("archives");
    fs::create_dir_all(&archives).map_err(trouble(&archives))?;
    for archive in apt.download(&packages, &archives)? {
        apt::unpack(&archive, &half)?;
    }
    fs::remove_dir_all(&archives).map_err(trouble(&archives))?;
    // The launchers name the directory as it will be called.
    launchers::write(&half, directory).map_err(trouble(&half))?;
    let list = packages.iter().map(|package| format!("{package}\n"));
    let said = half.join("packages");
    fs::write(&said, list.collect::<String>()).map_err(trouble(&said))?;
    fs::rename(&half, directory).map_err(trouble(directory))?;
    if system::is_root() && !system::is_open_to_all(directory) {
        return Err(format!(
            "as root the servers run as nobody, who may not enter {}; let CARGO_TARGET_DIR name a \
             directory that everybody may enter",
            directory.display()
        ));
    }
    Ok(())
}

fn trouble(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
