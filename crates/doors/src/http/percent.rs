//! Percent-encoding of path segments and query parts (RFC 3986 2.1), strict when reading.

/// Decodes `%XX`, and `+` as a space when `is_query`. `None` for a broken escape or for bytes that
/// are not UTF-8.
pub(crate) fn decode(text: &str, is_query: bool) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => out.push(hex(rest.next()?)? << 4 | hex(rest.next()?)?),
            b'+' if is_query => out.push(b' '),
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

/// Encodes everything but the unreserved characters.
pub(crate) fn encode(out: &mut String, text: &str) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.extend(['%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn encoded_text_reads_back() {
        for text in ["", "agent:b", "a/b?c=d&e+f%", "h\u{e9}\u{1f378} \r\n"] {
            let mut out = String::new();
            encode(&mut out, text);
            assert!(
                out.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b))
            );
            assert_eq!(decode(&out, true).as_deref(), Some(text));
            assert_eq!(decode(&out, false).as_deref(), Some(text));
        }
    }

    #[test]
    fn broken_escapes_are_refused() {
        for text in ["%", "%4", "%zz", "%ff", "a%C3"] {
            assert_eq!(decode(text, true), None, "{text}");
        }
        assert_eq!(decode("a+b", false).as_deref(), Some("a+b"));
        assert_eq!(decode("a+b", true).as_deref(), Some("a b"));
    }
}
