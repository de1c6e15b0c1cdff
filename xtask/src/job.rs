//! What there is to run: one test program, the documentation, or one example.
//!
//! Cargo alone knows the directory and the environment that each test program is run in. So it is
//! asked to run them all by [`note`], which writes down what it was given, and that is repeated
//! later, several at a time. Cargo itself runs one after the other.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use crate::run;
use crate::servers::Provided;
use crate::summary::{Announced, announced};

/// The word that makes this program [`note`].
pub(crate) const NOTE: &str = "__note";

/// Something to run, and its name in the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// All of it; this program's own where there is none.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What is taken away from it.
    pub(crate) without: Vec<OsString>,
    pub(crate) is_example: bool,
}

impl Job {
    /// The command that does it, after the words of `before`, if there are any.
    pub(crate) fn command(&self, before: &[&str]) -> Command {
        let before = before.iter().map(OsStr::new);
        let mut words = before.chain(self.words.iter().map(OsString::as_os_str));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.directory);
        if !self.environment.is_empty() {
            command.env_clear().envs(self.environment.iter().cloned());
        }
        for name in &self.without {
            command.env_remove(name);
        }
        command
    }

    /// The same program, for these of its tests.
    pub(crate) fn only(&self, names: &[String]) -> Self {
        let mut job = self.clone();
        job.words.push("--exact".into());
        job.words.extend(names.iter().map(OsString::from));
        job
    }
}

/// Writes what cargo wants to be run into a file of `directory`, and runs nothing: the directory,
/// how many words, the words, the environment; each ended by a zero byte.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn note(directory: &Path, words: &[OsString]) -> io::Result<()> {
    let Some(program) = words.first().map(Path::new) else {
        return Err(io::Error::other("cargo gave no program"));
    };
    let mut text = Vec::new();
    let mut add = |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        text.push(0);
    };
    add(env::current_dir()?.as_os_str().as_bytes());
    add(words.len().to_string().as_bytes());
    words.iter().for_each(|word| add(word.as_bytes()));
    for (name, value) in env::vars_os() {
        add(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    }
    let name = program.file_name().unwrap_or(program.as_os_str());
    fs::write(directory.join(name), text)
}

/// What was noted, under the name `name`.
fn read(name: String, text: &[u8]) -> Option<Job> {
    let mut parts = text.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let directory = parts.next()?.into();
    let count: usize = parts.next()?.to_str()?.parse().ok()?;
    let words: Vec<OsString> = parts.by_ref().take(count).map(OsStr::to_owned).collect();
    let entry = |entry: &OsStr| {
        // A name is never empty, and may begin with an equals sign.
        let entry = entry.as_bytes();
        let end = 1 + entry.iter().skip(1).position(|byte| *byte == b'=')?;
        let part = |bytes| OsStr::from_bytes(bytes).to_owned();
        Some((part(&entry[..end]), part(&entry[end + 1..])))
    };
    Some(Job {
        name,
        words,
        directory,
        environment: parts.filter_map(entry).collect(),
        ..Job::default()
    })
}

/// Has cargo build what `arguments` name, and returns what it would have run, in its order, and
/// whether it could build it. Its output, the compiler's, is passed on.
///
/// # Errors
///
/// When cargo cannot be started, or a program that it names was not noted.
pub(crate) fn build(
    root: &Path,
    arguments: &[String],
    provided: &[Provided],
) -> io::Result<(Vec<Job>, bool)> {
    let notes = Notes::new()?;
    let mut cargo = run::cargo(root);
    cargo.envs(provided.iter().map(Provided::variable));
    cargo.args(arguments.iter().take_while(|word| *word != "--"));
    cargo.arg("--config").arg(notes.runner()?);
    cargo.args(arguments.iter().skip_while(|word| *word != "--"));
    let mut found = Vec::new();
    let status = run::tee(
        cargo,
        run::LONGEST_SILENCE,
        &mut io::sink(),
        |line| match announced(line) {
            Some(target) => found.push(target),
            None => print!("{line}"),
        },
    )?;
    let jobs = found.into_iter().map(|target| notes.job(target));
    Ok((jobs.collect::<io::Result<_>>()?, status.success()))
}

/// An example, as its build has left it beside the tests.
pub(crate) fn example(root: &Path, tests: &[Job], name: &str) -> Option<Job> {
    let program = Path::new(tests.first()?.words.first()?);
    let built = program.parent()?.parent()?.join("examples").join(name);
    Some(Job {
        name: name.to_owned(),
        words: vec![built.into()],
        directory: root.to_owned(),
        is_example: true,
        ..Job::default()
    })
}

/// A command of cargo, whose output names the targets by itself.
pub(crate) fn cargo(root: &Path, name: &str, arguments: &[String]) -> Job {
    let cargo = run::cargo(root);
    let words = std::iter::once(cargo.get_program().to_owned());
    let without = cargo.get_envs().filter(|(_, value)| value.is_none());
    Job {
        name: name.to_owned(),
        words: words.chain(arguments.iter().map(OsString::from)).collect(),
        directory: root.to_owned(),
        without: without.map(|(name, _)| name.to_owned()).collect(),
        ..Job::default()
    }
}

/// A directory for the notes of one build, removed with its value.
struct Notes(PathBuf);

impl Notes {
    fn new() -> io::Result<Self> {
        let directory = env::temp_dir().join(format!("xtask-notes-{}", std::process::id()));
        fs::create_dir(&directory)?;
        Ok(Self(directory))
    }

    /// What makes cargo run every program by [`note`], as a line of its configuration.
    fn runner(&self) -> io::Result<OsString> {
        let quoted = |path: &Path| {
            let text = path.display().to_string();
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        };
        let program = quoted(&env::current_exe()?);
        let line = format!(
            "target.\"cfg(all())\".runner=[{program}, \"{NOTE}\", {}]",
            quoted(&self.0)
        );
        Ok(line.into())
    }

    fn job(&self, target: Announced) -> io::Result<Job> {
        let noted = fs::read(self.0.join(&target.program)).ok();
        let job = noted.and_then(|text| read(target.name.clone(), &text));
        job.ok_or_else(|| {
            io::Error::other(format!(
                "{} was run in another way; is a runner configured for this target?",
                target.name
            ))
        })
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_was_noted_is_run_as_cargo_would_have() {
        let directory = Scratch::new("notes");
        let words = [
            "/x/target/debug/deps/engine-0a1b",
            "a filter",
            "",
            "--nocapture",
        ];
        let words = words.map(OsString::from);
        note(directory.path(), &words).expect("it is written");
        let noted = fs::read(directory.path().join("engine-0a1b")).expect("its name");
        let job = read("engine".to_owned(), &noted).expect("it is whole");
        assert_eq!(job.words, words);
        assert_eq!(job.directory, env::current_dir().expect("there is one"));
        assert!(job.environment.iter().cloned().eq(env::vars_os()));
        let command = job.command(&["nice"]);
        assert_eq!(command.get_program(), "nice");
        assert!(command.get_args().eq(words.iter()));
    }

    #[test]
    fn half_a_note_is_none() {
        assert_eq!(read("x".to_owned(), b"/tmp\0"), None);
        assert_eq!(read("x".to_owned(), b"/tmp\0many\0"), None);
    }

    #[test]
    fn values_may_be_empty_and_hold_anything_but_zero() {
        let job = read("x".to_owned(), b"/\x001\0p\0A=\0B=c=\xff\n\0").expect("a note");
        let pair = |name: &str, value: &[u8]| (name.into(), OsStr::from_bytes(value).to_owned());
        assert_eq!(job.environment, [pair("A", b""), pair("B", b"c=\xff\n")]);
    }

    #[test]
    fn examples_lie_beside_the_tests() {
        let test = Job {
            words: vec!["/x/target/debug/deps/engine-0a1b".into()],
            ..Job::default()
        };
        let example = example(Path::new("/x"), &[test], "lock").expect("a place");
        assert_eq!(example.words, ["/x/target/debug/examples/lock"]);
        assert!(example.is_example);
    }
}
