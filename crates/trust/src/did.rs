//! `did:key` for Ed25519: an identity that carries its own key (UAI 9.10 G4).

/// Multicodec `ed25519-pub`, as a varint.
const ED25519: [u8; 2] = [0xed, 0x01];

/// The DID of an Ed25519 key: `did:key:z6Mk...`.
#[must_use]
pub fn did_key(public: &[u8; 32]) -> String {
    let mut bytes = ED25519.to_vec();
    bytes.extend_from_slice(public);
    format!("did:key:z{}", bs58::encode(bytes).into_string())
}

/// The Ed25519 key that a `did:key` or a DID URL (`did:key:z...#z...`) names. A fragment must repeat
/// the key, as the method says; anything else is `None`.
#[must_use]
pub fn read_did_key(text: &str) -> Option<[u8; 32]> {
    let (did, fragment) = match text.split_once('#') {
        Some((did, fragment)) => (did, Some(fragment)),
        None => (text, None),
    };
    let multibase = did.strip_prefix("did:key:")?;
    if fragment.is_some_and(|fragment| fragment != multibase) {
        return None;
    }
    // The longest text of 34 bytes; longer ones are not worth decoding.
    let encoded = multibase
        .strip_prefix('z')
        .filter(|text| text.len() <= 50)?;
    let bytes = bs58::decode(encoded).into_vec().ok()?;
    bytes.strip_prefix(&ED25519)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{did_key, read_did_key};

    #[test]
    fn the_published_example_of_the_method_is_read_and_written() {
        // The did:key method, section 5.1 (Ed25519).
        let did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        let key = read_did_key(did).unwrap();
        assert_eq!(did_key(&key), did);
        let url = format!("{did}#{}", did.strip_prefix("did:key:").unwrap());
        assert_eq!(read_did_key(&url), Some(key));
    }

    #[test]
    fn what_is_no_ed25519_did_key_is_refused() {
        let did = did_key(&[7; 32]);
        assert_eq!(read_did_key(&format!("{did}#z6Mkother")), None);
        // X25519 (0xec 0x01), another length, another base, another method.
        let other = bs58::encode([&[0xec, 0x01][..], &[7; 32]].concat()).into_string();
        let short = bs58::encode([&[0xed, 0x01][..], &[7; 31]].concat()).into_string();
        for text in [
            format!("did:key:z{other}"),
            format!("did:key:z{short}"),
            did.replace(":z", ":f"),
            did.replace("did:key", "did:web"),
            "did:key:z0OIl".into(),
            String::new(),
        ] {
            assert_eq!(read_did_key(&text), None, "{text}");
        }
    }
}
