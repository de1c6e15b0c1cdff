//! Data directories that take seconds to initialise, made once for each version and copied.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::ServerError;
use super::home;

/// To be raised when templates are made in another way, so that old ones are not used.
const FORM: u32 = 1;

/// Fills `data` with a copy of the template called `key`, which `make` fills if it is not there.
///
/// The template lies in the system's temporary directory and outlives the process. A lock lets
/// one process make it while others wait; it appears by a rename, so a half-made one is never
/// seen.
pub(super) fn copy(
    key: &str,
    data: &Path,
    make: impl FnOnce(&Path) -> Result<(), ServerError>,
) -> Result<(), ServerError> {
    let user = home::servant().map_or(rustix::process::getuid().as_raw(), |(user, _)| user);
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let key: String = key.chars().map(safe).collect();
    let name = format!("tenure-template-{FORM}-{user}-{}", key.trim_matches('-'));
    let template = std::env::temp_dir().join(name);
    let lock = File::create(template.with_added_extension("lock"))?;
    lock.lock()?;
    if !template.is_dir() {
        make_atomically(&template, make)?;
    }
    // Any user can make a directory of this name; only our own user's contents are trusted.
    if fs::metadata(&template)?.uid() != user {
        return Err(ServerError::new(format!(
            "{} is not ours",
            template.display()
        )));
    }
    drop(lock);
    home::copy(&template, data)
}

fn make_atomically(
    template: &Path,
    make: impl FnOnce(&Path) -> Result<(), ServerError>,
) -> Result<(), ServerError> {
    let workshop: PathBuf = home::directory("template")?;
    let made = make(&workshop);
    if made.is_err() || fs::rename(&workshop, template).is_err() {
        let _ = fs::remove_dir_all(&workshop);
    }
    made
}
