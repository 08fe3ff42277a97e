//! Whom a client believes over TLS, and who it says it is.

use crate::Error;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Certificates for `https` addresses. By default the public authorities are believed and no
/// certificate is shown.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    authorities: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Trust {
    /// Believes these authorities (PEM) and no others.
    #[must_use]
    pub fn authorities(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authorities = Some(pem.into());
        self
    }

    /// Shows this chain of certificates, the leaf first, with its key (both PEM).
    #[must_use]
    pub fn identity(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.identity = Some((chain.into(), key.into()));
        self
    }

    pub(crate) fn config(&self) -> Result<ClientConfig, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::Input(error.to_string());
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(pem) => {
                for authority in certificates(pem, "authorities")? {
                    roots.add(authority).map_err(|error| wrong(&error))?;
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_root_certificates(roots);
        match &self.identity {
            None => Ok(builder.with_no_client_auth()),
            Some((chain, key)) => {
                let chain = certificates(chain, "a chain of certificates")?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
                    Error::Input(format!("expected a private key in PEM: {error}"))
                })?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| wrong(&error))
            }
        }
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(some) if !some.is_empty() => Ok(some),
        Ok(_) => Err(Error::Input(format!("expected {what} in PEM, got none"))),
        Err(error) => Err(Error::Input(format!("expected {what} in PEM: {error}"))),
    }
}
