//! Forms of message and conversation ids (AEE 1.5, AEE 1.6).
//!
//! An id is an opaque text, compared byte for byte. Its form only decides notices and what strict
//! mode takes.

use super::fields::Field;
use super::findings::{Findings, Weight};
use crate::Code;
use crate::timestamp::Timestamp;

/// What an id looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A ULID; the milliseconds it holds.
    Ulid(i64),
    /// A UUID of any version, in any case.
    Uuid,
    /// A word, an underscore and a ULID, as the article's `CONV_...`.
    PrefixedUlid,
    /// Anything else.
    Opaque,
}

impl Form {
    /// Classifies `text`.
    pub(super) fn of(text: &str) -> Self {
        match text.len() {
            26 => ulid_millis(text).map_or(Self::Opaque, Self::Ulid),
            36 if is_uuid(text) => Self::Uuid,
            _ => match text.split_once('_') {
                Some((prefix, ulid)) if is_prefix(prefix) && ulid_millis(ulid).is_some() => {
                    Self::PrefixedUlid
                }
                _ => Self::Opaque,
            },
        }
    }
}

/// Most bytes of an id in strict mode.
const ID_BYTES_MAX: usize = 128;

/// More than this between a ULID's own time and `ts` is worth a notice. Clocks drift by minutes and
/// zones by hours; the published examples are off by a year.
const SKEW_MILLIS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// Checks and classifies an id, for `id`, `corr` and `reply_to` alike.
pub(super) fn check(text: &str, field: Field, out: &mut Findings) -> Form {
    let form = Form::of(text);
    if form == Form::Opaque {
        let detail = "expected a ULID or a UUID, got another form";
        out.push(
            Weight::Notice,
            Code::IdForm,
            field.pointer(),
            "AEE 1.5",
            detail,
        );
    }
    if text.len() > ID_BYTES_MAX {
        let detail = format!("expected at most {ID_BYTES_MAX} bytes, got {}", text.len());
        out.push(
            Weight::Grammar,
            Code::TooLong,
            field.pointer(),
            "AEE 1.9",
            detail,
        );
    }
    if !is_plain(text) {
        let detail = "expected printable ASCII without spaces, got other characters";
        out.push(
            Weight::Grammar,
            Code::IdentityMalformed,
            field.pointer(),
            "AEE 1.5",
            detail,
        );
    }
    form
}

/// Compares the time inside a ULID with `ts`.
pub(super) fn check_skew(form: Form, ts: Option<Timestamp>, out: &mut Findings) {
    let (Form::Ulid(made), Some(ts)) = (form, ts) else {
        return;
    };
    if ts.as_millis().abs_diff(made) > SKEW_MILLIS_MAX {
        let made = Timestamp::from_millis(made);
        let detail =
            format!("expected the ULID and ts to be at most a day apart, got {made} and {ts}");
        out.push(Weight::Notice, Code::IdTimeSkew, "/id", "AEE 1.5", detail);
    }
}

/// Whether `text` is printable ASCII without spaces: what can stand in a log line, a URL path and a
/// header without doubt.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_prefix(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// The time inside a ULID. The alphabet is upper-case Crockford base 32 without I, L, O and U; the
/// first character carries three bits only.
fn ulid_millis(text: &str) -> Option<i64> {
    if text.len() != 26 || text.as_bytes().first().is_none_or(|first| *first > b'7') {
        return None;
    }
    let mut millis = 0;
    for (at, byte) in text.bytes().enumerate() {
        let digit = digit(byte)?;
        if at < 10 {
            millis = millis << 5 | i64::from(digit);
        }
    }
    Some(millis)
}

/// The letters leave out I, L, O and U, so each run of them has its own offset.
fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'H' => byte - b'A' + 10,
        b'J' | b'K' => byte - b'J' + 18,
        b'M' | b'N' => byte - b'M' + 20,
        b'P'..=b'T' => byte - b'P' + 22,
        b'V'..=b'Z' => byte - b'V' + 27,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn the_published_ids_have_their_forms() {
        let cases = [
            ("01JFX7K2M4N8P1Q3R5S7T9V0W2", Form::Ulid(1_735_074_089_604)),
            ("01jfx7k2m4n8p1q3r5s7t9v0w2", Form::Opaque),
            ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", Form::Ulid((1 << 48) - 1)),
            ("0123456789ABCDEFGHJKMNPQRS", Form::Ulid(0x0110_c853_1d09)),
            ("000000000TUVWXYZ0000000000", Form::Opaque),
            ("000000000TVWXYZ00000000000", Form::Ulid(26)),
            ("00000000HJ0000000000000000", Form::Ulid(17 << 5 | 18)),
            ("00000000KM0000000000000000", Form::Ulid(19 << 5 | 20)),
            ("00000000NP0000000000000000", Form::Ulid(21 << 5 | 22)),
            ("81JFX7K2M4N8P1Q3R5S7T9V0W2", Form::Opaque),
            ("01EXAMPLE00000000000000001", Form::Opaque),
            ("CONV_01JFX7K0A2B4C6D8E0F2G4H6J8", Form::PrefixedUlid),
            ("_01JFX7K0A2B4C6D8E0F2G4H6J8", Form::Opaque),
            ("C-V_01JFX7K0A2B4C6D8E0F2G4H6J8", Form::Opaque),
            ("123e4567-e89b-12d3-A456-426614174000", Form::Uuid),
            ("123e4567-e89b-12d3-a456-42661417400g", Form::Opaque),
            ("aaa-111", Form::Opaque),
            ("", Form::Opaque),
        ];
        for (text, form) in cases {
            assert_eq!(Form::of(text), form, "{text}");
        }
    }
}
