//! The token that everybody must know who asks the dashboard.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tenure_dashboard::site::SHORTEST_TOKEN;

use crate::exit::Failure;
use crate::output::Voice;

const VARIABLE: &str = "TENURE_DASHBOARD_TOKEN";
/// Longer than any token, and short enough to read from whatever it is.
const LONGEST: u64 = 4096;

/// The first line of the file, else the variable, if there is either.
pub(super) fn read(file: Option<&Path>, voice: &Voice) -> Result<Option<String>, Failure> {
    let token = match file {
        Some(path) => Some(of_file(path, voice)?),
        None => std::env::var_os(VARIABLE)
            .map(std::ffi::OsString::into_string)
            .transpose()
            .map_err(|_| Failure::usage(format!("{VARIABLE} is not UTF-8")))?,
    };
    let Some(token) = token else {
        return Ok(None);
    };
    let token = token.trim();
    if token.is_empty() {
        return Err(Failure::usage("the dashboard's token is empty"));
    }
    if !token.chars().all(|c| matches!(c, ' '..='~')) {
        let why = "the dashboard's token must be plain ASCII, or no header could carry it";
        return Err(Failure::usage(why));
    }
    if token.len() < SHORTEST_TOKEN {
        voice.warn(&format_args!(
            "a token of less than {SHORTEST_TOKEN} characters can be guessed: openssl rand -hex 32 makes a \
             good one"
        ));
    }
    Ok(Some(token.to_owned()))
}

fn of_file(path: &Path, voice: &Voice) -> Result<String, Failure> {
    let shown = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let mode = file.metadata().map_or(0, |file| file.permissions().mode());
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok(mode)
    });
    let mode = read.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    // A group is how a secret is shared on purpose.
    if mode & 0o006 != 0 {
        voice.warn(&format_args!(
            "there is a token in {shown}, and everybody may read or change it: chmod 600"
        ));
    }
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
