//! Arguments, variables and files a test adds to a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::ServerError;
use super::find::Server;
use super::home;

/// The file that says what time it is to a server with a clock of its own.
pub(super) const CLOCK: &str = "clock";

/// While this file is there, a server with a disk of its own cannot write.
pub(super) const FULL: &str = "full";

/// What a test adds. In arguments and variables `{dir}` stands for the server's directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl Extras {
    /// Writes the files, readable by the server's user alone: PostgreSQL insists on that for
    /// keys.
    pub(super) fn write(&self, directory: &Path) -> Result<(), ServerError> {
        for (name, contents) in &self.files {
            let path = directory.join(name);
            if name == CLOCK && path.exists() {
                // It goes on over a restart.
                continue;
            }
            fs::write(&path, contents)
                .and_then(|()| home::give(&path, 0o600))
                .map_err(ServerError::doing(path.display()))?;
        }
        Ok(())
    }

    /// Adds a wall clock that can be set, by libfaketime.
    pub(super) fn own_clock(&mut self) -> Result<(), ServerError> {
        let library = Server::Faketime.find("libfaketime.so.1")?;
        // The C library stands before jemalloc, whose start asks for the time before libfaketime
        // can be asked, and would hang.
        let preload = format!("{}:libc.so.6", library.display());
        self.files.push((CLOCK.to_owned(), b"+0".to_vec()));
        let file = format!("{{dir}}/{CLOCK}");
        let variables = [
            ("LD_PRELOAD", preload.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", &file),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let owned = variables.map(|(key, value)| (key.to_owned(), value.to_owned()));
        self.variables.extend(owned);
        Ok(())
    }

    /// The same for servers that ask for the time in signal handlers, as PostgreSQL does and as
    /// libfaketime does not bear: by a clock of our own, which has no state.
    pub(super) fn plain_clock(&mut self) -> Result<(), ServerError> {
        let library = compiled(
            "clock",
            include_str!("../../../../xtask/src/servers/clock.c"),
        )?;
        self.files.push((CLOCK.to_owned(), b"+0".to_vec()));
        self.preload(&library);
        let file = (
            "FAKETIME_TIMESTAMP_FILE".to_owned(),
            format!("{{dir}}/{CLOCK}"),
        );
        self.variables.push(file);
        Ok(())
    }

    /// The same of every clock: a Java machine counts by the monotonic one.
    pub(super) fn all_clocks(&mut self) -> Result<(), ServerError> {
        self.plain_clock()?;
        let all = ("TENURE_ALL_CLOCKS".to_owned(), "1".to_owned());
        self.variables.push(all);
        Ok(())
    }

    /// Adds a disk that can be filled.
    pub(super) fn own_disk(&mut self) -> Result<(), ServerError> {
        self.preload(&compiled("disk", include_str!("disk.c"))?);
        let flag = ("TENURE_FULL_DISK".to_owned(), format!("{{dir}}/{FULL}"));
        self.variables.push(flag);
        Ok(())
    }

    fn preload(&mut self, library: &Path) {
        let preload = |(key, _): &&mut (String, String)| key == "LD_PRELOAD";
        match self.variables.iter_mut().find(preload) {
            Some((_, value)) => *value = format!("{}:{value}", library.display()),
            None => {
                let value = library.display().to_string();
                self.variables.push(("LD_PRELOAD".to_owned(), value));
            }
        }
    }

    /// Adds the arguments and variables to the command of a server in this directory.
    pub(super) fn apply(&self, command: &mut Command, directory: &Path) {
        let name = directory.display().to_string();
        let placed = |text: &String| text.replace("{dir}", &name);
        command.args(self.arguments.iter().map(placed));
        self.set_variables(command, directory);
    }

    /// Adds the variables alone.
    pub(super) fn set_variables(&self, command: &mut Command, directory: &Path) {
        let directory = directory.display().to_string();
        let variables = self.variables.iter();
        command.envs(variables.map(|(key, value)| (key, value.replace("{dir}", &directory))));
    }
}

/// Compiles what is preloaded, by the compiler that Rust links with.
fn compiled(name: &str, source: &str) -> Result<PathBuf, ServerError> {
    let folder = home::directory(name)?;
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, source)?;
    let library = folder.join(format!("{name}.so"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library);
    home::run({
        compiler.arg(&file);
        compiler
    })?;
    home::give(&library, 0o755)?;
    Ok(library)
}
