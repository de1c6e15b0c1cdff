//! The options that both SQL stores have.

use std::time::Duration;

use super::pool::Limits;
use crate::backend::url::{Foreign, Options, StoreUrl};
use crate::error::{Error, Result};
use crate::model::LeaseTerms;
use crate::stores::StoreOptions;
use crate::stores::code::Own;
use crate::stores::kit::Source;
use crate::stores::typed::{Choice, choice};

/// How the connection is secured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::stores) struct Tls {
    pub(in crate::stores) mode: TlsMode,
    pub(in crate::stores) ca: Option<String>,
    pub(in crate::stores) cert: Option<String>,
    /// The path of the key file: no secret itself.
    pub(in crate::stores) key: Option<String>,
}

/// How much security a connection to a SQL server insists on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsMode {
    /// None.
    Off,
    /// If the server has it; nothing is verified.
    #[default]
    Prefer,
    /// Encrypted; nothing is verified.
    Require,
    /// Encrypted, by a server with a certificate of a known authority.
    VerifyCa,
    /// And for the host that was asked for.
    VerifyFull,
}

impl Choice for TlsMode {
    const WORDS: &[(&str, Self)] = &[
        ("off", Self::Off),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];
}

#[derive(Clone, Debug)]
pub(in crate::stores) struct Settings {
    pub(in crate::stores) table: String,
    pub(in crate::stores) schedule_table: String,
    pub(in crate::stores) create: bool,
    pub(in crate::stores) connections: usize,
    pub(in crate::stores) limits: Limits,
    /// By how much the clocks of servers may differ.
    pub(in crate::stores) margin: Duration,
}

/// Which server a URL names, and how it is connected to. Has no `Debug`: a password is in it.
#[derive(Clone)]
pub(in crate::stores) struct Target {
    pub(in crate::stores) host: String,
    pub(in crate::stores) port: u16,
    pub(in crate::stores) socket: Option<String>,
    pub(in crate::stores) database: String,
    pub(in crate::stores) user: Option<String>,
    pub(in crate::stores) password: Option<String>,
    pub(in crate::stores) tls: Tls,
}

impl Settings {
    /// Takes the common options.
    fn take(options: &mut Options) -> Result<Self> {
        let terms = options.terms()?.unwrap_or_default();
        let connections = options.number("connections")?.unwrap_or(4);
        if !(1..=64).contains(&connections) {
            return Err(Error::invalid("the option \"connections\" is 1 to 64"));
        }
        Ok(Self {
            table: table(options, "table", "simba_mutex")?,
            schedule_table: table(options, "schedule_table", "tenure_schedule")?,
            create: options.switch("create")?.unwrap_or(true),
            connections: usize::try_from(connections).unwrap_or(4),
            limits: limits(&terms),
            margin: terms.margin(),
        })
    }
}

impl Target {
    fn take(url: &StoreUrl, options: &mut Options, usual_port: u16) -> Result<Self> {
        let scheme = url.scheme();
        let [host] = url.hosts() else {
            return Err(Error::invalid(format!(
                "a {scheme} URL names one host, as in \"{scheme}://user:password@host/database\""
            )));
        };
        let database = url.path().trim_start_matches('/');
        if database.is_empty() || database.contains('/') {
            return Err(Error::invalid(format!(
                "a {scheme} URL names a database, as in \"{scheme}://user:password@host/database\""
            )));
        }
        Ok(Self {
            host: host.host.clone(),
            port: host.port.unwrap_or(usual_port),
            socket: options.text("socket"),
            database: database.to_owned(),
            user: url.user().map(str::to_owned),
            password: url.password().map(str::to_owned),
            tls: tls(options)?,
        })
    }
}

/// What `all` says: the settings, what `more` takes of them, and the server that the URL names,
/// unless the application has its `own` way to connect.
pub(in crate::stores) fn read<O, T>(
    all: &StoreOptions,
    own: Option<&Own<O>>,
    words: &[Foreign],
    usual_port: u16,
    more: impl FnOnce(&mut Options) -> Result<T>,
) -> Result<(Settings, Option<Target>, T)> {
    let url = all.url()?;
    let mut options = url.options();
    options.translate(super::words::FOREIGN)?;
    options.translate(words)?;
    let settings = Settings::take(&mut options)?;
    let target = match own {
        Some(_) => {
            refuse_second_target(url)?;
            None
        }
        None => Some(Target::take(url, &mut options, usual_port)?),
    };
    let more = more(&mut options)?;
    options.finish()?;
    Ok((settings, target, more))
}

/// What to connect to `server` with, and where that is, for messages.
pub(in crate::stores) fn way<O: Clone + Send + Sync + 'static>(
    server: &str,
    target: Option<&Target>,
    own: Option<&Own<O>>,
    driver_options: impl FnOnce(&Target) -> O,
) -> (Source<O>, String) {
    match (target, own) {
        (Some(target), _) => {
            let place = format!("{server} at {}:{}", target.host, target.port);
            let options = driver_options(target);
            (Source::ready(move || options.clone()), place)
        }
        (None, Some(own)) => (own.options.clone(), own.place(server)),
        (None, None) => unreachable!("without options of its own it has a target"),
    }
}

/// Refuses what the application's own options say already. Of the URL's options, those of a
/// [`Target`] are not known then.
fn refuse_second_target(url: &StoreUrl) -> Result<()> {
    let is_bare = url.hosts().is_empty() && url.user().is_none() && url.path().is_empty();
    match is_bare && url.password().is_none() {
        true => Ok(()),
        false => Err(Error::invalid(
            "the application's own connection options say where and as whom to connect: set \
             host, port, database, user and password there",
        )),
    }
}

fn limits(terms: &LeaseTerms) -> Limits {
    let call = terms.call_timeout();
    Limits {
        // Longer than the engine waits for a usual call: it gives up first and
        // says so, and this frees the connection.
        call: call * 2,
        connect: call,
        ping: (call / 4).clamp(Duration::from_millis(100), Duration::from_secs(1)),
    }
}

/// A table's name, which goes into statements as it is: plain words only.
fn table(options: &mut Options, key: &'static str, usual: &str) -> Result<String> {
    let Some(name) = options.text(key) else {
        return Ok(usual.to_owned());
    };
    let word = |word: &str| {
        let starts = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        starts && word.len() <= 48 && word.chars().all(legal)
    };
    let mut words = name.split('.');
    if words.clone().count() > 2 || !words.all(word) {
        return Err(Error::invalid(format!(
            "the option {key:?} is a table's name, or schema.name, of letters, digits and _, \
             at most 48 each, not {name:?}"
        )));
    }
    Ok(name)
}

fn tls(options: &mut Options) -> Result<Tls> {
    use TlsMode::{Prefer, VerifyCa, VerifyFull};
    let mode = choice(options, "tls")?;
    let (ca, cert, key) = (
        options.text("tls_ca"),
        options.text("tls_cert"),
        options.text("tls_key"),
    );
    if cert.is_some() != key.is_some() {
        return Err(Error::invalid(
            "the options \"tls_cert\" and \"tls_key\" go together: the paths of two PEM files",
        ));
    }
    // An authority is named to be asked for.
    let usual = if ca.is_some() { VerifyFull } else { Prefer };
    let mode = mode.unwrap_or(usual);
    if ca.is_some() && !matches!(mode, VerifyCa | VerifyFull) {
        return Err(Error::invalid(
            "with \"tls_ca\" the option \"tls\" is verify-ca or verify-full, or left out",
        ));
    }
    Ok(Tls {
        mode,
        ca,
        cert,
        key,
    })
}
