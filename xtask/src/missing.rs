//! What to say when programs are missing and may not be installed.

use std::fmt::Write as _;

use crate::areas::{Area, needs, possible};
use crate::find::Packages;
use crate::programs::Missing;

/// Names every missing program that the areas need, where to get it, and what can be run without.
///
/// `missing` is all that the machine lacks, whether these areas need it or not: the command
/// suggested must not lead to the next message of this kind.
pub(crate) fn message(missing: &[Missing], areas: &[Area], reason: &str) -> String {
    let mut text = String::from("xtask: no test was run, these programs are missing:\n");
    let needed = needs(areas);
    for Missing { program, files } in missing.iter().filter(|m| needed.contains(&m.program)) {
        let Packages { apt, dnf, brew } = program.packages();
        let _ = write!(text, "  {} (", files.join(", "));
        for (manager, packages) in [("apt", apt), ("dnf", dnf), ("brew", brew)] {
            let packages = if packages.is_empty() {
                "-"
            } else {
                &packages.join(" ")
            };
            let _ = write!(text, "{manager}: {packages}; ");
        }
        let _ = writeln!(text, "or set {})", program.variable());
    }
    let _ = writeln!(text, "They were not installed: {reason}.");
    // Part of what was asked for, or else whatever there is.
    let [asked, any] = [areas, &Area::USUAL].map(|areas| possible(areas, missing));
    let possible = if asked.is_empty() { any } else { asked };
    let _ = match possible.as_slice() {
        [] => writeln!(text, "Nothing can be tested without them."),
        areas => {
            let only = Area::list(areas).replace(' ', "");
            writeln!(
                text,
                "What can be tested without them: cargo xtask test --only {only}"
            )
        }
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::Server;
    use crate::programs::Program;

    fn missing(program: Program) -> Missing {
        let files = match program {
            Program::Compiler => vec!["cc"],
            Program::Server(server) => server.programs().to_vec(),
            Program::Terminal => vec!["tmux"],
            Program::Promtool => vec!["promtool"],
            Program::Maven => vec!["mvn", "javac"],
            Program::Valgrind => vec!["valgrind"],
            Program::Browser => vec!["chromium", "chromedriver"],
            Program::Hypervisor => vec!["qemu-system-x86_64"],
        };
        Missing { program, files }
    }

    fn servers(servers: &[Server]) -> Vec<Missing> {
        servers
            .iter()
            .copied()
            .map(|server| missing(Program::Server(server)))
            .collect()
    }

    #[test]
    fn every_missing_program_is_named_with_its_packages() {
        let missing = servers(&[Server::Redis, Server::ZooKeeper]);
        let text = message(&missing, &Area::USUAL, "--no-install was given");
        let expected = "  redis-server (apt: redis-server; dnf: redis; brew: redis; \
                        or set TENURE_REDIS_BIN)\n  zookeeper.jar, java (apt: ";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("; dnf: -; brew: zookeeper; "), "{text}");
        assert!(
            text.contains("not installed: --no-install was given."),
            "{text}"
        );
    }

    #[test]
    fn the_command_for_what_is_possible_is_given() {
        let text = message(&servers(&Server::ALL), &Area::USUAL, "x");
        assert!(
            text.ends_with("cargo xtask test --only core,counts\n"),
            "{text}"
        );
        // SQLite has no server, but its tests shift clocks.
        let others = Server::ALL
            .into_iter()
            .filter(|server| *server != Server::Faketime);
        let others: Vec<_> = others.collect();
        let text = message(&servers(&others), &Area::USUAL, "x");
        assert!(text.ends_with("--only core,sqlite,counts\n"), "{text}");
    }

    #[test]
    fn possible_is_first_of_all_what_was_asked_for() {
        let asked = [Area::Core, Area::Redis];
        let missing = servers(&[Server::Redis]);
        let text = message(&missing, &asked, "x");
        assert!(text.ends_with("--only core\n"), "{text}");
        let text = message(&missing, &asked[1..], "x");
        assert!(
            text.ends_with("--only core,sqlite,mysql,postgres,zookeeper,counts\n"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_asked_for_is_neither_listed_nor_suggested() {
        let missing = servers(&[Server::Redis, Server::MariaDb]);
        let text = message(&missing, &[Area::Redis], "x");
        assert!(!text.contains("mariadb"), "{text}");
        assert!(
            text.ends_with("--only core,sqlite,postgres,zookeeper,counts\n"),
            "{text}"
        );
    }

    #[test]
    fn without_a_compiler_nothing_is_possible() {
        let text = message(&[missing(Program::Compiler)], &Area::USUAL, "x");
        assert!(text.contains("Nothing can be tested"), "{text}");
    }
}
