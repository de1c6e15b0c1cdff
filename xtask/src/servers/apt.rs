//! An apt of our own: other suites than the system's, in directories of its own, as any user.
//!
//! It is the system's program, so the archive's signatures are verified, dependencies resolved and
//! proxies used as everywhere on this machine. The system's own lists and packages stay untouched.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fmt, fs};

use super::trouble;

/// Who signs Debian's archive; on Ubuntu in a package of the same name.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const USUAL_MIRROR: &str = "http://deb.debian.org/debian/";

/// One version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    version: String,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

pub(super) struct Apt {
    configuration: PathBuf,
}

impl Apt {
    /// With the newest lists of all suites; `place` is where it keeps them.
    pub(super) fn open(place: &Path) -> Result<Self, String> {
        if !Path::new(KEYRING).is_file() {
            return Err(format!(
                "{KEYRING} is missing, so Debian's packages cannot be verified (apt: \
                 debian-archive-keyring)"
            ));
        }
        for directory in ["lists/partial", "cache/archives/partial", "sources"] {
            let directory = place.join(directory);
            fs::create_dir_all(&directory).map_err(trouble(&directory))?;
        }
        let write = |name: &str, text: String| {
            let path = place.join(name);
            fs::write(&path, text).map_err(trouble(&path))?;
            Ok::<_, String>(path)
        };
        write("sources/debian.sources", sources(&mirror()))?;
        // No package is installed, as far as it knows: it names all that is needed.
        write("status", String::new())?;
        let apt = Self {
            configuration: write("apt.conf", configuration(place))?,
        };
        apt.run("apt-get", &["-q", "update"], None)?;
        Ok(apt)
    }

    /// The packages, and the libraries that they depend on. What else they depend on is for
    /// installing them.
    pub(super) fn needed(&self, suite: &str, names: &[&str]) -> Result<Vec<Package>, String> {
        let mut words = vec!["-q", "-y", "--no-install-recommends", "--simulate"];
        words.extend(["-t", suite, "install"]);
        words.extend(names);
        let mut all = installed(&self.run("apt-get", &words, None)?);
        all.retain(|package| names.contains(&&*package.name) || package.name.starts_with("lib"));
        // In the order in which they were asked for; the libraries follow.
        all.sort_by_key(|package| {
            let place = names.iter().position(|name| *name == package.name);
            (place.unwrap_or(names.len()), package.name.clone())
        });
        Ok(all)
    }

    /// The archives of the packages, in `place`.
    pub(super) fn download(
        &self,
        packages: &[Package],
        place: &Path,
    ) -> Result<Vec<PathBuf>, String> {
        let named = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version));
        let named: Vec<String> = named.collect();
        let mut words = vec!["-q", "download"];
        words.extend(named.iter().map(String::as_str));
        self.run("apt-get", &words, Some(place))?;
        let entries = fs::read_dir(place).map_err(trouble(place))?;
        let archives: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        if archives.len() == packages.len() {
            return Ok(archives);
        }
        Err(format!(
            "{} of {} packages were downloaded",
            archives.len(),
            packages.len()
        ))
    }

    fn run(&self, program: &str, words: &[&str], place: Option<&Path>) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(words).env("APT_CONFIG", &self.configuration);
        command.env("LC_ALL", "C");
        if let Some(place) = place {
            command.current_dir(place);
        }
        output(command)
    }
}

/// Takes an archive apart, into `place`.
pub(super) fn unpack(archive: &Path, place: &Path) -> Result<(), String> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(archive).arg(place);
    output(command).map(drop)
}

fn output(mut command: Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{shown}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!(
        "{shown} failed ({}):\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    ))
}

/// The mirror of Debian that this machine uses, or the usual one.
fn mirror() -> String {
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(REPO_URI)"]);
    targets.arg("Identifier: Packages");
    pick_mirror(&output(targets).unwrap_or_default())
}

fn pick_mirror(known: &str) -> String {
    let is_debian = |uri: &&str| uri.trim_end_matches('/').ends_with("/debian");
    let found = known.lines().find(is_debian);
    found.unwrap_or(USUAL_MIRROR).to_owned()
}

fn sources(mirror: &str) -> String {
    format!(
        "Types: deb\nURIs: {mirror}\nSuites: trixie sid\nComponents: main\nSigned-By: {KEYRING}\n"
    )
}

fn configuration(place: &Path) -> String {
    let place = place.display();
    format!(
        "Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{place}/sources\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State \"{place}\";\n\
         Dir::State::status \"{place}/status\";\n\
         Dir::Cache \"{place}/cache\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n\
         APT::Sandbox::User \"\";\n"
    )
}

/// What a simulated installation would install: `Inst libc6 (2.42-1 Debian:unstable [amd64])`.
fn installed(simulation: &str) -> Vec<Package> {
    let package = |line: &str| {
        let mut words = line.strip_prefix("Inst ")?.split_whitespace();
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('(')?.to_owned();
        Some(Package { name, version })
    };
    simulation.lines().filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_installed_is_read_with_its_version() {
        let simulation = "Reading package lists...\n\
             Inst libc6 (2.42-1 Debian:unstable [amd64]) []\n\
             Inst redis-server (5:8.0.6-3 Debian:unstable [amd64])\n\
             Conf libc6 (2.42-1 Debian:unstable [amd64])\n";
        let shown: Vec<_> = installed(simulation)
            .iter()
            .map(Package::to_string)
            .collect();
        assert_eq!(shown, ["libc6 2.42-1", "redis-server 5:8.0.6-3"]);
    }

    #[test]
    fn the_machines_mirror_is_used_if_it_has_debian() {
        let known = "http://ports.ubuntu.com/\nhttp://near/debian-security/\nhttp://near/debian/\n";
        assert_eq!(pick_mirror(known), "http://near/debian/");
        assert_eq!(pick_mirror(""), USUAL_MIRROR);
    }
}
