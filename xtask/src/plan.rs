//! Which cargo commands a selection of areas comes to.

use crate::areas::Area;
use crate::args::TestArgs;
use crate::targets::Targets;

/// One set of flags for every command, so that nothing is compiled twice.
const TEST: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Arguments of cargo, one list per command.
    pub(crate) commands: Vec<Vec<String>>,
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
        // Arguments after `--` may be a filter. Examples know no filter, and would make a run that
        // matched no test look as if it had tested something.
        let with_examples = core && args.runner.is_empty();
        let unselected = Area::ALL.iter().filter(|area| !areas.contains(area));
        let mut left_out: Vec<_> = unselected.map(|area| area.name().to_owned()).collect();
        if core && !with_examples && !targets.examples.is_empty() {
            left_out.push("examples".to_owned());
        }
        Self {
            commands: commands(&areas, targets, &args.runner),
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

/// No `--only` means everything.
pub(crate) fn selected(args: &TestArgs) -> Vec<Area> {
    if args.only.is_empty() {
        Area::ALL.to_vec()
    } else {
        args.only.clone()
    }
}

fn commands(areas: &[Area], targets: &Targets, runner: &[String]) -> Vec<Vec<String>> {
    let command = |flags: &[&str]| {
        let mut command: Vec<String> = TEST
            .iter()
            .chain(flags)
            .map(|&word| word.to_owned())
            .collect();
        if !runner.is_empty() {
            command.push("--".to_owned());
            command.extend_from_slice(runner);
        }
        command
    };
    if areas == Area::ALL {
        return vec![command(&[])];
    }
    let core = areas.contains(&Area::Core);
    let mut flags = if core {
        vec!["--lib", "--bins", "--examples"]
    } else {
        vec![]
    };
    for target in targets
        .tests
        .iter()
        .filter(|t| areas.contains(&Area::of_target(t)))
    {
        flags.extend(["--test", target.as_str()]);
    }
    let mut commands = Vec::new();
    // Without a target flag cargo would run everything.
    if !flags.is_empty() {
        commands.push(command(&flags));
    }
    // Cargo refuses `--doc` beside other targets.
    if core {
        commands.push(command(&["--doc"]));
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

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
                no_install: false,
                runner,
            },
            &targets,
        )
    }

    fn lines(plan: &Plan) -> Vec<String> {
        plan.commands
            .iter()
            .map(|command| command.join(" "))
            .collect()
    }

    #[test]
    fn a_full_run_is_one_command_and_the_examples() {
        let plan = plan(&[], &[]);
        assert_eq!(
            lines(&plan),
            ["test --workspace --all-features --no-fail-fast"]
        );
        assert_eq!(plan.examples, ["lock"]);
        assert!(plan.left_out.is_empty());
    }

    #[test]
    fn naming_every_area_is_a_full_run() {
        assert_eq!(plan(&Area::ALL, &[]), plan(&[], &[]));
    }

    #[test]
    fn core_runs_all_targets_without_a_server_and_the_documentation() {
        let plan = plan(&[Area::Core], &[]);
        let expected = [
            "test --workspace --all-features --no-fail-fast --lib --bins --examples \
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
                "servers"
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
        assert!(plan.commands.is_empty());
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
