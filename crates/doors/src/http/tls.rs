//! TLS on the listener: rustls with its safe defaults, and client certificates if they are wanted.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// What the listener needs to speak TLS. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// Whether clients must show a certificate.
    pub asks_for_certificates: bool,
}

/// Why a certificate, a key or an authority cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("asks_for_certificates", &self.asks_for_certificates)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// From PEM texts: the chain of certificates, the leaf first; its key; and the authorities whose
    /// clients are let in, when only those shall be.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn new(chain: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = certificates(chain, "the certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError(format!("expected a private key in PEM: {error}")))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError(error.to_string()))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(pem, "the authority of clients")? {
                    roots.add(authority).map_err(|error| {
                        TlsError(format!("the authority of clients cannot be used: {error}"))
                    })?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| {
                            TlsError(format!("the authority of clients cannot be used: {error}"))
                        })?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            TlsError(format!(
                "the certificate and its key cannot be used: {error}"
            ))
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            asks_for_certificates: client_ca.is_some(),
        })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(some) if !some.is_empty() => Ok(some),
        Ok(_) => Err(TlsError(format!("expected {what} in PEM, got none"))),
        Err(error) => Err(TlsError(format!("expected {what} in PEM: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::Tls;

    #[test]
    fn what_is_no_certificate_is_named() {
        let refused = Tls::new(b"nonsense", b"", None).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "expected the certificate in PEM, got none"
        );
    }
}
