//! What the shell is told: text for it to evaluate.

use std::io::IsTerminal;

use serde::Serialize;

use super::desk::{self, Held};
use super::shell;
use crate::config::Settings;
use crate::output::{self, Format};
use crate::place;
use crate::tree::MARK;

/// What another program is told.
#[derive(Debug, Serialize)]
struct Told<'a> {
    name: &'a str,
    token: &'a str,
    contender: &'a str,
    hold: &'a str,
    pid: i32,
}

/// Tells the shell `pid` that it holds the lock, and where; false when it
/// does not read.
pub(crate) fn held(id: &str, held: &Held, pid: i32, settings: &Settings) -> bool {
    if settings.output == Format::Json {
        return output::json(&Told {
            name: &held.name,
            token: &held.token,
            contender: &held.contender,
            hold: id,
            pid,
        });
    }
    let known = desk::ids();
    let (open, over): (Vec<String>, Vec<String>) =
        known.into_iter().partition(|id| desk::is_open(id));
    let marks = std::env::var(MARK).unwrap_or_default();
    let marks = marks.split_whitespace().map(str::to_owned);
    let marks = marks.filter(|mark| !over.contains(mark));
    let with = |before: Vec<String>| [before, vec![id.to_owned()]].concat().join(" ");
    let mut variables = vec![
        (desk::VARIABLE, with(open)),
        (MARK, with(marks.collect())),
        ("TENURE_NAME", held.name.clone()),
        ("TENURE_TOKEN", held.token.clone()),
        ("TENURE_CONTENDER", held.contender.clone()),
    ];
    // Another tenure in the script must not ask another store.
    variables.extend(place::told_to_script(settings));
    output::raw(&assignments(&variables))
}

fn assignments(variables: &[(&str, String)]) -> String {
    let assign = |(name, value): &(&str, String)| {
        let value = value.replace('\'', r"'\''");
        format!("{name}='{value}'; export {name};")
    };
    variables.iter().map(assign).collect::<Vec<_>>().join("\n")
}

/// Tells the shell that there is no lock: an `eval` of nothing would succeed,
/// and the script would go on without. A shell that a person types into is not
/// ended for it, and another program that gets JSON hears nothing.
pub(crate) fn refused(code: u8, format: Format) {
    if format == Format::Json || std::io::stdout().is_terminal() {
        return;
    }
    let is_interactive = shell::find(None).is_ok_and(|(pid, _)| shell::is_interactive(pid));
    output::raw(&match is_interactive {
        true => format!("(exit {code})"),
        false => format!("exit {code}"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_value_holds_the_shell_gets_it_as_it_is() {
        let value = "it's $(touch x) `y` \\ \"z\"\nnext";
        let script = assignments(&[("V", value.to_owned())]) + "\nprintf %s \"$V\"";
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), value);
    }
}
