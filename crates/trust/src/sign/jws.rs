//! Detached JWS in compact form (RFC 7515 appendix F): `protected..signature`.

use super::{Signer, quoted};
use crate::base64url;
use crate::key::Algorithm;
use protocol::json::{self, Limits};

/// The type that UAI-1 gives its signatures (UAI 9.10 G2).
const TYPE: &str = "uai+jws";

/// What the protected header says.
pub(super) struct Header {
    pub algorithm: Algorithm,
    pub kid: String,
}

/// A JWS of which everything but the signature itself was read.
pub(super) struct Jws<'t> {
    pub header: Header,
    protected: &'t str,
    pub signature: Vec<u8>,
}

impl<'t> Jws<'t> {
    /// Reads `protected..signature`.
    ///
    /// # Errors
    /// One sentence about what is wrong.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let (Some(protected), Some(""), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("expected a detached JWS, `protected..signature`".into());
        };
        let signature = base64url::decode(signature)
            .ok_or("expected the signature in base64url without padding")?;
        let bytes = base64url::decode(protected)
            .ok_or("expected the protected header in base64url without padding")?;
        Ok(Self {
            header: header(&bytes)?,
            protected,
            signature,
        })
    }

    /// The bytes that were signed, for this payload.
    pub(super) fn message(&self, payload: &str) -> String {
        message(self.protected, payload)
    }
}

/// Signs `payload`; `None` for a key that no JWS of UAI-1 may be made with (G2 refuses HMAC).
pub(super) fn write(payload: &str, signer: &Signer<'_>) -> Option<String> {
    if signer.key.algorithm() != Algorithm::Ed25519 {
        return None;
    }
    let header = format!(
        r#"{{"alg":"EdDSA","kid":{},"typ":"{TYPE}"}}"#,
        quoted(signer.kid)
    );
    let protected = base64url::encode(header.as_bytes());
    let signature = signer.key.sign(message(&protected, payload).as_bytes());
    Some(format!("{protected}..{}", base64url::encode(&signature)))
}

fn message(protected: &str, payload: &str) -> String {
    format!("{protected}.{}", base64url::encode(payload.as_bytes()))
}

fn header(bytes: &[u8]) -> Result<Header, String> {
    let limits = Limits {
        bytes_max: 4_096,
        depth_max: 4,
    };
    let document = json::read(bytes, limits)
        .map_err(|_| "expected the protected header to be a small JSON object")?;
    let root = document.root();
    let text = |name: &str| root.get(name).and_then(json::Value::as_str);
    if root.get("crit").is_some() {
        return Err("expected no `crit` in the header: nothing critical is understood".into());
    }
    if root.get("b64").is_some() {
        return Err("expected no `b64` in the header".into());
    }
    let algorithm = match text("alg").as_deref() {
        Some("EdDSA" | "Ed25519") => Algorithm::Ed25519,
        Some("ES256") => Algorithm::Es256,
        other => {
            let got = other.unwrap_or("none");
            let got: String = got.chars().take(20).collect();
            return Err(format!(
                "expected `alg` EdDSA, Ed25519 or ES256, got {got:?}"
            ));
        }
    };
    if text("typ").is_some_and(|found| found != TYPE) {
        return Err(format!("expected `typ` {TYPE}"));
    }
    let kid = text("kid").filter(|kid| !kid.is_empty());
    Ok(Header {
        algorithm,
        kid: kid
            .ok_or("expected `kid`, the name of the key")?
            .into_owned(),
    })
}
