//! Programs of an unpacked server that run with the libraries beside them.
//!
//! The loader and the C library of a program must be of one version, and the system's may be
//! older. So each program makes room for a script that calls the directory's loader with it. The
//! script stands where the program was: PostgreSQL looks for its files beside itself.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is put after the name of a program that a script stands for.
const MOVED: &str = "unpacked";

/// Where Debian puts programs that may be called.
const PLACES: [&str; 3] = ["usr/bin", "usr/sbin", "usr/lib/postgresql"];

/// The clock that a test can set, beside the loader.
const CLOCK: &str = "clock.so";

/// Writes a script for each program in `directory`, which will be called `later`.
pub(super) fn write(directory: &Path, later: &Path) -> io::Result<()> {
    let loader = loader(directory)?;
    compile_clock(&loader.with_file_name(CLOCK))?;
    for place in PLACES {
        for program in programs(&directory.join(place))? {
            let real = program.with_added_extension(MOVED);
            fs::rename(&program, &real)?;
            let at = |path: &Path| later.join(path.strip_prefix(directory).unwrap_or(path));
            fs::write(&program, script(&at(&loader), &at(&real)))?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// The loader lies beside the libraries, in the directory of the machine's architecture.
fn loader(directory: &Path) -> io::Result<PathBuf> {
    let libraries = entries(&directory.join("usr/lib"))?;
    for library in libraries.into_iter().filter(|path| path.is_dir()) {
        let is_loader = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("ld-linux")
        };
        if let Some(found) = entries(&library)?.into_iter().find(is_loader) {
            return Ok(found);
        }
    }
    Err(io::Error::other("the packages have no loader"))
}

/// The compiled programs in a directory and those below it; not what is a link or a script.
fn programs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for path in entries(directory)? {
        let kind = fs::symlink_metadata(&path)?;
        if kind.is_dir() {
            found.extend(programs(&path)?);
        } else if kind.is_file() && kind.permissions().mode() & 0o111 != 0 {
            let mut start = Vec::new();
            fs::File::open(&path)?.take(4).read_to_end(&mut start)?;
            if start == *b"\x7fELF" {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Compiles the clock. It needs no library, so it may stand beside any.
fn compile_clock(to: &Path) -> io::Result<()> {
    let source = to.with_extension("c");
    fs::write(&source, include_str!("clock.c"))?;
    // Rust links with it, so it is there.
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-nostdlib", "-fno-builtin", "-o"]);
    let status = compiler.arg(to).arg(&source).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("cc made no {CLOCK}: {status}")));
    }
    Ok(())
}

/// Where a test asks for a clock that it can set, the system's libfaketime is of another C
/// library than the server, and makes room for ours.
fn script(loader: &Path, program: &Path) -> String {
    let libraries = loader.parent().unwrap_or(loader).display();
    let (loader, program) = (loader.display(), program.display());
    format!(
        "#!/bin/sh\n\
         case \"${{LD_PRELOAD-}}\" in\n\
         */libfaketime*) LD_PRELOAD='{libraries}/{CLOCK}' ;;\n\
         esac\n\
         exec '{loader}' --library-path '{libraries}' --argv0 \"$0\" '{program}' \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_program_is_called_by_its_own_loader_and_keeps_its_name() {
        let root = Scratch::new("launchers");
        // A loader that shows what it is asked.
        let loader = root.write(
            "half/usr/lib/any-linux-gnu/ld-linux-any.so.2",
            "#!/bin/sh\necho \"$@\"\n",
        );
        let program = root.write("half/usr/bin/server", "\x7fELF");
        let script = root.write("half/usr/bin/script", "#!/bin/sh\n");
        for path in [&loader, &program, &script] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let whole = root.path().join("whole");
        write(&root.path().join("half"), &whole).unwrap();
        fs::rename(root.path().join("half"), &whole).unwrap();
        let called = whole.join("usr/bin/server");
        let output = Command::new(&called).args(["a b", "c"]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let expected = format!(
            "--library-path {0}/usr/lib/any-linux-gnu --argv0 {1} {1}.unpacked a b c\n",
            whole.display(),
            called.display()
        );
        assert_eq!(shown, expected);
        let untouched = fs::read_to_string(whole.join("usr/bin/script")).unwrap();
        assert_eq!(untouched, "#!/bin/sh\n");
    }

    #[test]
    fn the_clock_follows_its_file() {
        let root = Scratch::new("clock");
        let clock = root.path().join(CLOCK);
        compile_clock(&clock).unwrap();
        let shown = |offset: &str| -> i64 {
            let file = root.write("clock", offset);
            let mut date = Command::new("date");
            date.arg("+%s").env("LD_PRELOAD", &clock);
            let output = date.env("FAKETIME_TIMESTAMP_FILE", file).output().unwrap();
            String::from_utf8(output.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap()
        };
        let true_time = shown("");
        assert!((3600..3700).contains(&(shown("+3600.500s") - true_time)));
        assert!((-3601..-3500).contains(&(shown("-3600.500s") - true_time)));
    }

    #[test]
    fn packages_without_a_c_library_are_refused() {
        let root = Scratch::new("no-loader");
        root.write("usr/lib/x/libx.so", "");
        assert!(write(root.path(), root.path()).is_err());
    }
}
