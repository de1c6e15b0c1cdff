//! What `zookeeper+tls://` trusts, and what it shows.

use std::io;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};

use crate::backend::url::Options;
use crate::error::{Error, Result};

/// How and where to connect. It has no `Debug`: a key is in it.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) client: Arc<ClientConfig>,
    pub(super) servers: Vec<Server>,
}

/// A server, and the name that its certificate must hold.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) name: ServerName<'static>,
}

impl Way {
    /// Reads the files of `tls_ca`, `tls_cert` and `tls_key`.
    pub(super) fn new(hosts: &[(String, u16)], options: &mut Options) -> Result<Self> {
        let server = |(host, port): &(String, u16)| {
            Ok(Server {
                host: host.clone(),
                port: *port,
                name: server_name(host)?,
            })
        };
        let servers = hosts.iter().map(server).collect::<Result<_>>()?;
        // An application that has chosen its own keeps it.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::invalid(format!("TLS cannot be used: {error}")))?
            .with_root_certificates(roots(options)?);
        let client = match identity(options)? {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| bad_file("tls_key", &error))?,
            None => builder.with_no_client_auth(),
        };
        Ok(Self {
            client: Arc::new(client),
            servers,
        })
    }
}

fn server_name(host: &str) -> Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        Error::invalid(format!(
            "{host:?} is no name or address that a certificate could be for"
        ))
    })
}

/// The authorities of `tls_ca`, or those that the system trusts.
fn roots(options: &mut Options) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match read(options, "tls_ca")? {
        Some(pem) => {
            for authority in certificates("tls_ca", &pem)? {
                let added = roots.add(authority);
                added.map_err(|error| bad_file("tls_ca", &error))?;
            }
        }
        None => {
            // One of them that cannot be read is none of our business.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Error::invalid(
                    "this system trusts no authority: name one, as in \
                     \"zookeeper+tls://host:2281?tls_ca=/etc/ca.pem\"",
                ));
            }
        }
    }
    Ok(roots)
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(options: &mut Options) -> Result<Option<Identity>> {
    match (read(options, "tls_cert")?, read(options, "tls_key")?) {
        (Some(chain), Some(key)) => {
            // No other process may show our certificate: see `own_process`.
            if !super::own_process::CAN_TELL {
                return Err(Error::invalid(
                    "client certificates for ZooKeeper (tls_cert, tls_key) need Linux",
                ));
            }
            let chain = certificates("tls_cert", &chain)?;
            let key = PrivateKeyDer::from_pem_slice(&key);
            // The reason is left out: it may quote the file.
            let key = key.map_err(|_| bad_file("tls_key", &"no private key in PEM is in it"))?;
            Ok(Some((chain, key)))
        }
        (None, None) => Ok(None),
        _ => Err(Error::invalid(
            "a client certificate needs both options, \"tls_cert\" and \"tls_key\"",
        )),
    }
}

fn certificates(key: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => Err(bad_file(key, &"no certificate in PEM is in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(bad_file(key, &error)),
    }
}

fn read(options: &mut Options, key: &'static str) -> Result<Option<Vec<u8>>> {
    let Some(path) = options.text(key) else {
        return Ok(None);
    };
    let read = std::fs::read(&path);
    read.map(Some).map_err(|error| bad_file(key, &error))
}

fn bad_file(key: &str, why: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!(
        "the file of the option {key:?} cannot be used: {why}"
    ))
}

/// What TLS itself has against the connection.
pub(super) fn fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Why there is no connection over TLS, for people.
pub(super) fn explain(error: &io::Error) -> String {
    match fault(error) {
        // The latter: by another authority of the same name.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => "its certificate is not signed by an authority of tls_ca (or, without that, of this \
             system)"
            .into(),
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("its certificate does not hold: {why}")
        }
        Some(rustls::Error::AlertReceived(alert)) => {
            format!(
                "it refused our certificate, or that we have none (tls_cert, tls_key): {alert:?}"
            )
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not speak TLS on this port; secureClientPort says which".into()
        }
        _ if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection before TLS was agreed on; secureClientPort says where it \
             speaks TLS"
                .into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::url::StoreUrl;

    #[test]
    fn what_is_wrong_is_said_without_what_the_files_hold() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let secret = "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n";
        std::fs::write(file.path(), secret).unwrap();
        let path = file.path().display();
        for (rest, hint) in [
            ("tls_ca=/does/not/exist".to_owned(), "tls_ca"),
            (format!("tls_ca={path}"), "no certificate"),
            (format!("tls_cert={path}"), "tls_key"),
            (format!("tls_cert={path}&tls_key={path}"), "tls_cert"),
        ] {
            let url: StoreUrl = format!("zookeeper+tls://a?{rest}").parse().unwrap();
            let mut options = url.options();
            let tried = identity(&mut options).and(roots(&mut options).map(drop));
            let error = tried.unwrap_err().to_string();
            assert!(error.contains(hint), "{rest}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
