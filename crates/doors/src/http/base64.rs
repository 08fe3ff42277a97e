//! Base64 (RFC 4648 4, with padding), for envelopes that a server-sent event cannot carry as text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the encoding of `bytes`.
pub(crate) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place > chunk.len() {
                out.push(b'=');
            } else {
                let six = group >> (18 - 6 * place) & 63;
                out.extend(usize::try_from(six).ok().and_then(|six| ALPHABET.get(six)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn the_published_vectors_hold() {
        // RFC 4648 section 10.
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in vectors {
            let mut out = Vec::new();
            encode(&mut out, text.as_bytes());
            assert_eq!(out, expected.as_bytes());
        }
    }
}
