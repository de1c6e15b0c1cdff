use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

fn pid(raw: i32) -> Pid {
    Pid::from_raw(raw).unwrap()
}

fn process(raw: i32, parent: i32, group: i32) -> Process {
    let line = format!("{raw} (x) S {parent} {group} 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {raw} 0");
    Process::parse(pid(raw), line.as_bytes()).unwrap()
}

fn numbers(members: &[Process]) -> Vec<i32> {
    let mut numbers: Vec<_> = members
        .iter()
        .map(|member| member.pid.as_raw_pid())
        .collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_name_with_brackets_and_blanks_is_read() {
    let line = "17 (a) R 9 (b) S 4 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 777 0";
    let process = Process::parse(pid(17), line.as_bytes()).unwrap();
    assert_eq!(
        (process.parent, process.group),
        (Some(pid(4)), Some(pid(5)))
    );
    assert_eq!((process.start, process.is_alive), (777, true));
}

#[test]
fn the_dead_are_no_members_but_a_process_whose_first_thread_ended_is() {
    let with = |threads| format!("9 (x) Z 4 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 1 0");
    assert!(!Process::parse(pid(9), with(1).as_bytes()).unwrap().is_alive);
    assert!(Process::parse(pid(9), with(2).as_bytes()).unwrap().is_alive);
}

#[test]
fn one_that_is_just_being_collected_has_no_group() {
    let line = "9 (x) Z 0 -1 -1 0 -1 0 0 0 0 0 0 0 0 0 20 0 0 0 1 0";
    let process = Process::parse(pid(9), line.as_bytes()).unwrap();
    assert_eq!((process.parent, process.group), (None, None));
}

#[test]
fn descendants_are_found_whatever_their_group() {
    let all = [
        process(10, 1, 10),  // the ancestor
        process(11, 10, 10), // apart from it
        process(12, 10, 12),
        process(13, 12, 13),
        process(14, 13, 14),
        process(20, 1, 20), // a stranger
    ];
    let tree = Tree {
        roots: vec![(pid(10), 10)],
        apart: vec![(pid(10), 10), (pid(11), 11)],
        ..Tree::default()
    };
    assert_eq!(numbers(&tree.members_of(&all)), [12, 13, 14]);
}

#[test]
fn those_that_were_there_before_are_left_alone() {
    let all = [
        process(10, 1, 10),
        process(12, 10, 12), // was there before
        process(13, 12, 12),
        process(14, 10, 14),
    ];
    let tree = Tree {
        roots: vec![(pid(10), 10)],
        apart: vec![(pid(10), 10)],
        strangers: vec![(pid(12), 12)],
        ..Tree::default()
    };
    assert_eq!(numbers(&tree.members_of(&all)), [14]);
}

/// Whatever its parents are, and whom else it has started.
#[test]
fn who_is_in_the_cgroup_is_a_member_and_whoever_descends_from_it() {
    let mut all = [
        process(10, 1, 10),
        process(20, 1, 20),
        process(21, 20, 21), // moved out
        process(30, 1, 30),
        process(31, 10, 31), // our own child
    ];
    all[1].is_inside = true;
    let tree = Tree {
        apart: vec![(pid(10), 10)],
        ..Tree::default()
    };
    assert_eq!(numbers(&tree.members_of(&all)), [20, 21]);
    all[0].is_inside = true;
    assert_eq!(numbers(&tree.members_of(&all)), [20, 21], "not ourselves");
}

#[test]
fn a_number_that_has_become_anothers_is_no_ancestor() {
    let all = [process(10, 1, 10), process(12, 10, 12)];
    let tree = Tree {
        roots: vec![(pid(10), 9)],
        ..Tree::default()
    };
    assert!(tree.members_of(&all).is_empty());
}

#[test]
fn the_group_of_a_dead_member_is_signalled_for_the_sake_of_its_children() {
    let line = "12 (x) Z 10 12 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12 0";
    let all = [
        process(10, 1, 10),
        Process::parse(pid(12), line.as_bytes()).unwrap(),
    ];
    let tree = Tree {
        roots: vec![(pid(10), 10)],
        apart: vec![(pid(10), 10)],
        ..Tree::default()
    };
    let members = tree.members_of(&all);
    assert_eq!(whole_groups(&all, &members), HashSet::from([pid(12)]));
}

#[test]
fn a_group_with_a_stranger_in_it_is_not_signalled_whole() {
    let members = [process(12, 10, 12), process(13, 12, 30)];
    let all = [members[0], members[1], process(31, 1, 30)];
    assert_eq!(whole_groups(&all, &members), HashSet::from([pid(12)]));
}

#[test]
fn a_sweep_ends_those_who_hear_and_those_who_do_not() {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    // The test's other processes are not below this one.
    let mut root =
        shell("trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & wait");
    let signs = Signs {
        command: Some(Pid::from_child(&root)),
        image: None,
        variable: "TENURE_MARK=".to_owned(),
        mark: "none-has-this".to_owned(),
    };
    let tree = Tree::of(None, &[], signs);
    let end = Instant::now() + Duration::from_secs(30);
    while tree.members().len() < 3 {
        assert!(Instant::now() < end, "it has its children");
    }
    let mut sweep = Sweep::new(0, 10);
    assert!(matches!(sweep.step(&tree, 0), Step::Again(_)));
    assert!(!tree.members().is_empty(), "they do not hear");
    while sweep.step(&tree, 11) != Step::Done {
        assert!(Instant::now() < end, "they end");
    }
    assert!(!root.wait().unwrap().success());
}
