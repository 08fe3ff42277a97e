//! Ids that follow from what they name.
//!
//! A call's envelope has the call's own id where that is one of a kind, so that a result finds its call
//! in whatever document either of them is. Everything else is named by its content.

use protocol::{digest, id};
use std::fmt::Write as _;

/// Calls whose ids are not one of a kind are told apart by their conversation.
const SCOPED: &str = "toolcall.";
/// Letters and digits at the end of an id from which on nobody else is thought to have the same.
const UNIQUE_CHARS: usize = 16;
/// Characters of an AEE id.
const ID_CHARS_MAX: usize = 128;

/// The id of the envelope of a call.
pub(crate) fn of_call(call: &str, corr: &str) -> String {
    if is_one_of_a_kind(call) {
        return call.to_owned();
    }
    let scope: String = digest(corr.as_bytes()).to_hex().chars().take(16).collect();
    let mut id = format!("{SCOPED}{scope}.");
    for byte in call.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' && byte != b'~' {
            id.push(char::from(byte));
        } else {
            let _ = write!(id, "%{byte:02X}");
        }
    }
    if id.len() <= ID_CHARS_MAX {
        return id;
    }
    let hash: String = digest(call.as_bytes()).to_hex().chars().take(32).collect();
    format!("{SCOPED}{scope}.~{hash}")
}

/// The call that an envelope of that id is; the id itself where nothing says more.
pub(crate) fn call_of(id: &str) -> String {
    let coded = id
        .strip_prefix(SCOPED)
        .and_then(|rest| rest.split_once('.'));
    coded
        .and_then(|(_, coded)| decoded(coded))
        .unwrap_or_else(|| id.to_owned())
}

fn decoded(coded: &str) -> Option<String> {
    if coded.starts_with('~') {
        return None;
    }
    let mut bytes = Vec::with_capacity(coded.len());
    let mut rest = coded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_one_of_a_kind(call: &str) -> bool {
    let is_wordy = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    let tail = call.bytes().rev().take_while(is_wordy).count();
    id::is_plain(call)
        && !call.starts_with(SCOPED)
        && !call.starts_with("iw.")
        && tail >= UNIQUE_CHARS
}

/// A UUID of version 8 that follows from a text.
pub(crate) fn of_content(text: &str) -> String {
    let mut bits = digest(text.as_bytes()).0;
    if let Some(byte) = bits.get_mut(6) {
        *byte = (*byte & 0x0f) | 0x80;
    }
    if let Some(byte) = bits.get_mut(8) {
        *byte = (*byte & 0x3f) | 0x80;
    }
    let hex: String = protocol::Digest(bits).to_hex().chars().take(32).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    parts.join("-")
}

/// A short name for a text, for conversations that have none.
pub(crate) fn of_document(text: &str) -> String {
    let hex: String = digest(text.as_bytes()).to_hex().chars().take(32).collect();
    format!("doc.{hex}")
}

#[cfg(test)]
mod tests {
    use super::{call_of, of_call, of_content};
    use proptest::prelude::*;

    #[test]
    fn only_what_is_one_of_a_kind_names_its_envelope() {
        for own in ["call_9XyZ0123456789abcdef", "toolu_01A09q90qw90lq917835lq9"] {
            assert_eq!(of_call(own, "conversation-1"), own);
        }
        for weak in [
            "1",
            "call_1",
            "functions.get_weather:0",
            "get_weather#0",
            "a b",
            "toolcall.abcdefabcdefabcdef",
        ] {
            let one = of_call(weak, "conversation-1");
            assert!(one.starts_with("toolcall."), "{one}");
            assert_ne!(one, of_call(weak, "conversation-2"));
            assert_eq!(call_of(&one), weak);
        }
        assert_eq!(of_content("x").len(), 36);
    }

    proptest! {
        #[test]
        fn every_call_has_a_plain_id_and_is_read_back_when_it_is_not_too_long(call in ".{1,60}") {
            let id = of_call(&call, "conversation-1");
            prop_assert!(protocol::id::is_plain(&id), "{}", id);
            if call.len() <= 30 {
                prop_assert_eq!(call_of(&id), call);
            }
        }
    }
}
