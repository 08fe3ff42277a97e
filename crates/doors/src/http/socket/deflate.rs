//! `permessage-deflate` (RFC 7692): what is agreed on, and compressing what is sent.
//!
//! Both sides begin every message anew (`server_no_context_takeover`, `client_no_context_takeover`): a
//! context would cost each of thousands of readers up to 300 KiB. So compressors and decompressors
//! belong to threads and not to connections.

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use std::cell::RefCell;

/// The name of the extension, here and in capabilities.
pub(crate) const NAME: &str = "permessage-deflate";

/// Shorter texts only grow.
const WORTH_IT_BYTES: usize = 128;

/// What ends a flushed block, and is not sent (7.2.1).
pub(super) const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// How a connection compresses what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The window that the peer keeps for it, as a power of two.
    window_bits: u8,
}

/// The first offer that can be kept, and the answer to it.
pub(super) fn agree(headers: &HeaderMap) -> Option<(Agreed, HeaderValue)> {
    let offers: Vec<_> = headers
        .get_all(header::SEC_WEBSOCKET_EXTENSIONS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let offers = offers.join(",");
    let (agreed, answer) = split(&offers, ',').iter().find_map(|offer| accept(offer))?;
    Some((agreed, HeaderValue::from_str(&answer).ok()?))
}

/// The answer to one offer; none when it asks for what is not done here or cannot be read (7.1).
fn accept(offer: &str) -> Option<(Agreed, String)> {
    let parts = split(offer, ';');
    let (name, parameters) = parts.split_first()?;
    if !name.trim().eq_ignore_ascii_case(NAME) {
        return None;
    }
    let mut seen = Vec::new();
    let mut window_bits = None;
    for parameter in parameters {
        let (name, value) = match parameter.split_once('=') {
            Some((name, value)) => (name.trim(), Some(unquote(value.trim())?)),
            None => (parameter.trim(), None),
        };
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
        match (name, value) {
            ("server_no_context_takeover" | "client_no_context_takeover", None) => {}
            // Our own compressor cannot keep to 256 bytes.
            ("server_max_window_bits", Some(value)) => {
                window_bits = Some(bits(value).filter(|bits| *bits > 8)?);
            }
            // Whatever window the peer uses is read.
            ("client_max_window_bits", None) => {}
            ("client_max_window_bits", Some(value)) => drop(bits(value)?),
            _ => return None,
        }
    }
    let mut answer = format!("{NAME}; server_no_context_takeover; client_no_context_takeover");
    if let Some(bits) = window_bits {
        answer.push_str(&format!("; server_max_window_bits={bits}"));
    }
    let window_bits = window_bits.unwrap_or(15);
    Some((Agreed { window_bits }, answer))
}

/// 8 to 15, without leading zeros (7.1.2.1).
fn bits(text: &str) -> Option<u8> {
    if text.starts_with(['0', '+']) {
        return None;
    }
    text.parse().ok().filter(|bits| (8..=15).contains(bits))
}

fn unquote(text: &str) -> Option<&str> {
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"'),
        None => (!text.is_empty()).then_some(text),
    }
}

/// The parts between separators that stand in no quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
    .collect()
}

thread_local! {
    /// Of this thread, one for each window.
    static COMPRESSORS: RefCell<[Option<Compress>; 16]> = const { RefCell::new([const { None }; 16]) };
}

/// The payload of a compressed frame for `text`; none when that would not be smaller.
pub(super) fn compress(text: &[u8], agreed: Agreed) -> Option<Bytes> {
    if text.len() < WORTH_IT_BYTES {
        return None;
    }
    COMPRESSORS.with_borrow_mut(|compressors| {
        let bits = agreed.window_bits;
        let compressor = compressors
            .get_mut(usize::from(bits))?
            .get_or_insert_with(|| {
                // The fastest level: what is sent was made for this connection alone.
                Compress::new_with_window_bits(Compression::fast(), false, bits)
            });
        compressor.reset();
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        loop {
            let before = compressor.total_in();
            compressor
                .compress_vec(rest, &mut out, FlushCompress::Sync)
                .ok()?;
            let taken = usize::try_from(compressor.total_in() - before).ok()?;
            rest = rest.get(taken..)?;
            if out.len() < out.capacity() && rest.is_empty() {
                break;
            }
            if out.len() >= text.len() {
                return None;
            }
            out.reserve(64);
        }
        let length = out.len().checked_sub(TAIL.len())?;
        (out.ends_with(&TAIL) && length < text.len()).then(|| {
            out.truncate(length);
            out.into()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::agree;
    use axum::http::{HeaderMap, header};

    fn answer(offers: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for offer in offers {
            headers.append(header::SEC_WEBSOCKET_EXTENSIONS, offer.parse().unwrap());
        }
        agree(&headers).map(|(_, answer)| answer.to_str().unwrap().to_owned())
    }

    const PLAIN: &str =
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

    #[test]
    fn the_first_offer_that_can_be_kept_is_answered() {
        for (offers, expected) in [
            (&["permessage-deflate"][..], PLAIN.to_owned()),
            (
                &["permessage-deflate; client_max_window_bits"],
                PLAIN.to_owned(),
            ),
            (
                &["Permessage-Deflate;client_max_window_bits=\"10\""],
                PLAIN.to_owned(),
            ),
            (
                &["permessage-deflate; server_max_window_bits=9"],
                format!("{PLAIN}; server_max_window_bits=9"),
            ),
            (
                &[
                    "x-webkit-deflate-frame, permessage-deflate; server_max_window_bits=8, permessage-deflate",
                ],
                PLAIN.to_owned(),
            ),
            (
                &["foo; a=\"b, permessage-deflate; x\"", "permessage-deflate"],
                PLAIN.to_owned(),
            ),
        ] {
            assert_eq!(answer(offers), Some(expected), "{offers:?}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_declined() {
        for offer in [
            "",
            "permessage-bzip2",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=09",
            "permessage-deflate; client_max_window_bits=7",
            "permessage-deflate; client_max_window_bits=",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; unknown",
            "permessage-deflate; client_max_window_bits=\"10",
        ] {
            assert_eq!(answer(&[offer]), None, "{offer}");
        }
    }
}
