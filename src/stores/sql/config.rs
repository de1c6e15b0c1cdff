//! The URL options that both SQL stores have.

use std::time::Duration;

use super::pool::Limits;
use crate::backend::url::{Options, StoreUrl};
use crate::error::{Error, Result};
use crate::model::LeaseTerms;

/// How the connection is secured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::stores) struct Tls {
    pub(in crate::stores) mode: TlsMode,
    pub(in crate::stores) ca: Option<String>,
    pub(in crate::stores) cert: Option<String>,
    /// The path of the key file: no secret itself.
    pub(in crate::stores) key: Option<String>,
}

/// How much security is insisted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::stores) enum TlsMode {
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

#[derive(Clone, Debug)]
pub(in crate::stores) struct Settings {
    pub(in crate::stores) host: String,
    pub(in crate::stores) port: u16,
    pub(in crate::stores) socket: Option<String>,
    pub(in crate::stores) database: String,
    pub(in crate::stores) table: String,
    pub(in crate::stores) schedule_table: String,
    pub(in crate::stores) create: bool,
    pub(in crate::stores) connections: usize,
    pub(in crate::stores) tls: Tls,
    pub(in crate::stores) limits: Limits,
}

impl Settings {
    /// Takes the common options; the store takes its own and finishes.
    pub(in crate::stores) fn take(
        url: &StoreUrl,
        options: &mut Options,
        usual_port: u16,
    ) -> Result<Self> {
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
        let terms = options.terms()?.unwrap_or_default();
        let connections = options.number("connections")?.unwrap_or(4);
        if !(1..=64).contains(&connections) {
            return Err(Error::invalid("the option \"connections\" is 1 to 64"));
        }
        Ok(Self {
            host: host.host.clone(),
            port: host.port.unwrap_or(usual_port),
            socket: options.text("socket"),
            database: database.to_owned(),
            table: table(options, "table", "simba_mutex")?,
            schedule_table: table(options, "schedule_table", "tenure_schedule")?,
            create: options.switch("create")?.unwrap_or(true),
            connections: usize::try_from(connections).unwrap_or(4),
            tls: tls(options)?,
            limits: limits(&terms),
        })
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
    use TlsMode::{Off, Prefer, Require, VerifyCa, VerifyFull};
    let names = ["off", "prefer", "require", "verify-ca", "verify-full"];
    let modes = [Off, Prefer, Require, VerifyCa, VerifyFull];
    let mode = options.choice("tls", &names)?.map(|index| modes[index]);
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
