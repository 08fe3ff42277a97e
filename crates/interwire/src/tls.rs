//! The files that make a listener speak TLS.

use crate::failure::Failure;
use crate::settings::TlsFiles;
use doors::http::Tls;
use std::path::Path;

/// Reads them; none without a certificate.
pub fn load(files: &TlsFiles) -> Result<Option<Tls>, Failure> {
    let is_set = |path: &Path| !path.as_os_str().is_empty();
    match (is_set(&files.certificate), is_set(&files.key)) {
        (true, true) => {}
        (false, false) if !is_set(&files.client_ca) => return Ok(None),
        _ => {
            return Err(Failure::Usage(
                "expected tls_certificate and tls_key together, and tls_client_ca only with them"
                    .into(),
            ));
        }
    }
    let client_ca = match is_set(&files.client_ca) {
        true => Some(read(&files.client_ca)?),
        false => None,
    };
    let (chain, key) = (read(&files.certificate)?, read(&files.key)?);
    Tls::new(&chain, &key, client_ca.as_deref())
        .map(Some)
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
}
