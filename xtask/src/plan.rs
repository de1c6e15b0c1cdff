//! Which cargo commands a selection of areas comes to.

use crate::areas::Area;
use crate::args::TestArgs;
use crate::targets::Targets;

/// One set of flags for every command, so that nothing is compiled twice.
const TEST: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Arguments of cargo that build and run the test programs.
    pub(crate) programs: Option<Vec<String>>,
    /// Arguments of cargo that run the documentation's tests.
    pub(crate) documentation: Option<Vec<String>>,
    /// Examples to run.
    pub(crate) examples: Vec<String>,
    /// What does not run, for the closing line.
    pub(crate) left_out: Vec<String>,
    /// Selected areas for which no test target exists.
    pub(crate) empty: Vec<Area>,
}

impl Plan {
    pub(crate) fn new(args: &TestArgs, targets: &Targets) -> Self {
        let areas = selected(args);
        let of = |area: &Area| {
            targets
                .tests
                .iter()
                .filter(|t| Area::of_target(t) == *area)
                .count()
        };
        let core = areas.contains(&Area::Core);
        let mut runner = args.runner.clone();
        for name in args.servers.map_or(&[][..], |servers| servers.leaves_out()) {
            runner.extend(["--skip".to_owned(), (*name).to_owned()]);
        }
        // Arguments after `--` may be a filter. Examples know no filter, and would make a run that
        // matched no test look as if it had tested something.
        let with_examples = core && args.runner.is_empty();
        let unselected = Area::ALL.iter().filter(|area| !areas.contains(area));
        let mut left_out: Vec<_> = unselected.map(|area| area.name().to_owned()).collect();
        if core && !with_examples && !targets.examples.is_empty() {
            left_out.push("examples".to_owned());
        }
        Self {
            programs: programs(&areas, targets, &runner),
            // Cargo refuses `--doc` beside other targets.
            documentation: core.then(|| command(&["--doc"], &runner)),
            examples: targets
                .examples
                .iter()
                .filter(|_| with_examples)
                .cloned()
                .collect(),
            left_out,
            empty: areas
                .iter()
                .copied()
                .filter(|a| *a != Area::Core && of(a) == 0)
                .collect(),
        }
    }
}

/// No `--only` means everything, or everything about the servers that were named.
pub(crate) fn selected(args: &TestArgs) -> Vec<Area> {
    match (args.only.as_slice(), args.servers) {
        ([], None) => Area::USUAL.to_vec(),
        ([], Some(servers)) => servers.areas().to_vec(),
        (only, _) => only.to_vec(),
    }
}

fn programs(areas: &[Area], targets: &Targets, runner: &[String]) -> Option<Vec<String>> {
    if areas == Area::USUAL {
        return Some(command(&["--lib", "--bins", "--tests"], runner));
    }
    let mut flags = match areas.contains(&Area::Core) {
        true => vec!["--lib", "--bins"],
        false => vec![],
    };
    for target in targets
        .tests
        .iter()
        .filter(|t| areas.contains(&Area::of_target(t)))
    {
        flags.extend(["--test", target.as_str()]);
    }
    // Without a target flag cargo would run everything.
    (!flags.is_empty()).then(|| command(&flags, runner))
}

fn command(flags: &[&str], runner: &[String]) -> Vec<String> {
    let words = TEST.iter().chain(flags);
    let mut command: Vec<String> = words.map(|&word| word.to_owned()).collect();
    if !runner.is_empty() {
        command.push("--".to_owned());
        command.extend_from_slice(runner);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::Collection;

    fn plan(only: &[Area], runner: &[&str]) -> Plan {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let targets = Targets {
            tests: set(&["architecture", "engine", "redis", "servers"]),
            examples: set(&["lock"]),
        };
        let runner = runner.iter().map(|&arg| arg.to_owned()).collect();
        Plan::new(
            &TestArgs {
                only: only.to_vec(),
                runner,
                ..TestArgs::default()
            },
            &targets,
        )
    }

    fn lines(plan: &Plan) -> Vec<String> {
        let commands = plan.programs.iter().chain(&plan.documentation);
        commands.map(|command| command.join(" ")).collect()
    }

    #[test]
    fn a_full_run_names_no_target() {
        let plan = plan(&[], &[]);
        let expected = [
            "test --workspace --all-features --no-fail-fast --lib --bins --tests",
            "test --workspace --all-features --no-fail-fast --doc",
        ];
        assert_eq!(lines(&plan), expected);
        assert_eq!(plan.examples, ["lock"]);
        assert_eq!(plan.left_out, ["jvm", "machine"]);
    }

    #[test]
    fn naming_every_usual_area_is_a_full_run() {
        assert_eq!(plan(&Area::USUAL, &[]), plan(&[], &[]));
    }

    #[test]
    fn servers_that_were_named_run_what_is_about_them() {
        let args = TestArgs {
            servers: Some(Collection::MySql),
            ..TestArgs::default()
        };
        assert_eq!(selected(&args), [Area::Mysql]);
    }

    #[test]
    fn core_runs_all_targets_without_a_server_and_the_documentation() {
        let plan = plan(&[Area::Core], &[]);
        let expected = [
            "test --workspace --all-features --no-fail-fast --lib --bins \
             --test architecture --test engine",
            "test --workspace --all-features --no-fail-fast --doc",
        ];
        assert_eq!(lines(&plan), expected);
        assert_eq!(plan.examples, ["lock"]);
        assert_eq!(
            plan.left_out,
            [
                "sqlite",
                "redis",
                "mysql",
                "postgres",
                "zookeeper",
                "servers",
                "counts",
                "faults",
                "browser",
                "jvm",
                "machine"
            ]
        );
    }

    #[test]
    fn a_server_area_runs_its_target_only() {
        let plan = plan(&[Area::Redis], &[]);
        let expected = ["test --workspace --all-features --no-fail-fast --test redis"];
        assert_eq!(lines(&plan), expected);
        assert!(plan.examples.is_empty());
    }

    #[test]
    fn an_area_without_targets_runs_nothing_and_is_named() {
        let plan = plan(&[Area::Sqlite], &[]);
        assert!(lines(&plan).is_empty());
        assert_eq!(plan.empty, [Area::Sqlite]);
    }

    #[test]
    fn arguments_go_to_every_command_and_leave_out_the_examples() {
        let plan = plan(&[Area::Core], &["a_name", "--nocapture"]);
        assert!(
            lines(&plan)
                .iter()
                .all(|line| line.ends_with(" -- a_name --nocapture"))
        );
        assert!(plan.examples.is_empty());
        assert_eq!(plan.left_out.last().map(String::as_str), Some("examples"));
    }
}
