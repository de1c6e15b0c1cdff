//! The programs that tests need beside Rust: which are missing, and which packages bring them.

use crate::find::{Packages, Server};
use crate::system::{find_in, search_path};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// A C compiler, which builds SQLite.
    Compiler,
    Server(Server),
    /// A terminal that can be looked at: tmux.
    Terminal,
    /// Checks and tests alert rules.
    Promtool,
    /// Counts instructions.
    Valgrind,
    /// Chromium, and what drives it.
    Browser,
    /// What brings libraries of the JVM, and the compiler for what uses them.
    Maven,
    /// Runs virtual machines; and the tools of a very small one.
    Hypervisor,
}

/// A program of which not every file was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) program: Program,
    /// The files that were not found, none of them twice.
    pub(crate) files: Vec<&'static str>,
}

impl Program {
    /// The variable that says where it is.
    pub(crate) fn variable(self) -> String {
        match self {
            Self::Compiler => "CC".to_owned(),
            Self::Server(server) => server.variable(),
            _ => "PATH".to_owned(),
        }
    }

    pub(crate) fn packages(self) -> Packages {
        match self {
            // On macOS `cc` comes with the command line tools, not from Homebrew.
            Self::Compiler => Packages {
                apt: &["gcc", "libc6-dev"],
                dnf: &["gcc"],
                brew: &[],
            },
            Self::Server(server) => server.packages(),
            Self::Terminal => Packages {
                apt: &["tmux"],
                dnf: &["tmux"],
                brew: &["tmux"],
            },
            Self::Promtool => Packages {
                apt: &["prometheus"],
                dnf: &["golang-github-prometheus"],
                brew: &["prometheus"],
            },
            Self::Valgrind => Packages {
                apt: &["valgrind"],
                dnf: &["valgrind"],
                brew: &[],
            },
            Self::Browser => Packages {
                apt: &["chromium", "chromium-driver"],
                dnf: &["chromium", "chromedriver"],
                brew: &[],
            },
            Self::Maven => Packages {
                apt: &["maven", "default-jdk-headless"],
                dnf: &["maven"],
                brew: &["maven"],
            },
            Self::Hypervisor => Packages {
                apt: &["qemu-system-x86", "busybox"],
                dnf: &["qemu-system-x86", "busybox"],
                brew: &[],
            },
        }
    }

    fn missing(self) -> Option<Missing> {
        let files: Vec<_> = match self {
            Self::Compiler => {
                let named = std::env::var_os("CC").is_some();
                let found = named || find_in(&search_path(), "cc").is_some();
                if found { vec![] } else { vec!["cc"] }
            }
            Self::Server(server) => {
                let files = server.programs().iter().copied();
                files.filter(|file| server.find(file).is_err()).collect()
            }
            Self::Terminal => absent(&["tmux"]),
            Self::Promtool => absent(&["promtool"]),
            Self::Valgrind => absent(&["valgrind"]),
            Self::Browser => absent(&["chromium", "chromedriver"]),
            Self::Maven => absent(&["mvn", "javac"]),
            Self::Hypervisor => absent(&["qemu-system-x86_64", "busybox"]),
        };
        (!files.is_empty()).then_some(Missing {
            program: self,
            files,
        })
    }
}

/// Those of the programs that are not in `PATH`.
fn absent(names: &[&'static str]) -> Vec<&'static str> {
    let path = search_path();
    let names = names.iter().copied();
    names
        .filter(|name| find_in(&path, name).is_none())
        .collect()
}

impl Missing {
    /// The variable that says where the program is, and is wrong: no package would change that.
    pub(crate) fn wrong_variable(&self) -> Option<String> {
        let Program::Server(server) = self.program else {
            return None;
        };
        let main = self.files.contains(&server.programs()[0]);
        let variable = server.variable();
        (main && std::env::var_os(&variable).is_some()).then_some(variable)
    }
}

/// Those of the programs that are not on this machine.
pub(crate) fn missing(programs: &[Program]) -> Vec<Missing> {
    programs
        .iter()
        .filter_map(|program| program.missing())
        .collect()
}

/// What to install, each package once.
pub(crate) fn apt_packages(missing: &[Missing]) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for Missing { program, files } in missing {
        // A Java that is there will do, from whatever package it came.
        let unneeded = |package: &str| {
            package.contains("-jre") && !files.contains(&"java")
                || package.contains("-jdk") && !files.contains(&"javac")
        };
        for package in program.packages().apt {
            if !unneeded(package) && !packages.contains(package) {
                packages.push(*package);
            }
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zookeeper(files: &[&'static str]) -> Missing {
        Missing {
            program: Program::Server(Server::ZooKeeper),
            files: files.to_vec(),
        }
    }

    #[test]
    fn a_java_runtime_is_installed_only_without_one() {
        assert_eq!(
            apt_packages(&[zookeeper(&["zookeeper.jar"])]),
            ["libzookeeper-java"]
        );
        let both = apt_packages(&[zookeeper(&["zookeeper.jar", "java"])]);
        assert_eq!(both, ["libzookeeper-java", "default-jre-headless"]);
    }

    #[test]
    fn each_package_is_installed_once() {
        let compiler = Missing {
            program: Program::Compiler,
            files: vec!["cc"],
        };
        assert_eq!(
            apt_packages(&[compiler.clone(), compiler]),
            ["gcc", "libc6-dev"]
        );
    }

    #[test]
    fn the_terminal_and_valgrind_are_packages_too() {
        let terminal = Missing {
            program: Program::Terminal,
            files: vec!["tmux"],
        };
        assert_eq!(apt_packages(&[terminal]), ["tmux"]);
        let promtool = Missing {
            program: Program::Promtool,
            files: vec!["promtool"],
        };
        assert_eq!(apt_packages(&[promtool]), ["prometheus"]);
        let valgrind = Missing {
            program: Program::Valgrind,
            files: vec!["valgrind"],
        };
        assert_eq!(apt_packages(&[valgrind]), ["valgrind"]);
    }

    #[test]
    fn every_server_has_a_debian_package() {
        for server in Server::ALL {
            assert!(
                !Program::Server(server).packages().apt.is_empty(),
                "{server:?}"
            );
        }
    }
}
