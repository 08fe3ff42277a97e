//! The text forms UAI-1 names: identifiers, keys, topics, times, trace context.
//!
//! Hand-written instead of regular expressions: each is one line of rules, and the crate stays free
//! of a pattern engine. Implements UAI 1.1 to 1.4 and 9.3 Q3.

use crate::shape::Grammar;
use crate::timestamp::Zone;
use crate::{Code, Timestamp};

/// An identifier.
pub(super) static IDENTIFIER: Grammar = Grammar {
    expected: "an identifier of 1 to 128 letters, digits, `.`, `_`, `:`, `-` that starts with a letter or digit",
    code: Code::IdentityMalformed,
    fits: is_identifier,
};
/// An identifier whose fault has a code of its own.
pub(super) static CORRELATION_ID: Grammar = Grammar {
    expected: "a correlation id of 1 to 128 letters, digits, `.`, `_`, `:`, `-` that starts with a letter or digit",
    code: Code::CorrelationIdMalformed,
    fits: is_identifier,
};
/// An agent's `type`.
pub(super) static AGENT_TYPE: Grammar = Grammar {
    expected: "an agent type of 1 to 64 letters, digits, `_`, `-`",
    code: Code::IdentityMalformed,
    fits: is_agent_type,
};
/// A DID.
pub(super) static DID: Grammar = Grammar {
    expected: "a DID",
    code: Code::IdentityMalformed,
    fits: is_did,
};
/// A URI.
pub(super) static URI: Grammar = Grammar {
    expected: "a URI with a scheme",
    code: Code::PatternMismatch,
    fits: is_uri,
};
/// W3C trace context.
pub(super) static TRACEPARENT: Grammar = Grammar {
    expected: "W3C trace context `00-<32 hex>-<16 hex>-<2 hex>` whose ids are not zero",
    code: Code::TraceparentMalformed,
    fits: is_traceparent,
};
/// An idempotency key.
pub(super) static IDEMPOTENCY_KEY: Grammar = Grammar {
    expected: "8 to 128 printable ASCII characters without spaces",
    code: Code::IdempotencyKeyMalformed,
    fits: is_idempotency_key,
};
/// A checksum. One that is not even of this form matches nothing, so it shares the code.
pub(super) static CHECKSUM: Grammar = Grammar {
    expected: "`sha256:` and 64 lower-case hexadecimal digits",
    code: Code::ChecksumMismatch,
    fits: is_checksum,
};

/// `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}` (UAI 1.1).
pub(crate) fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 128
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b':' | b'-'))
}

/// An agent's `type`: letters, digits, `_`, `-`.
///
/// UAI 1.2 only says "string". A `:` or `.` in it would let `{"type":"agent:a","id":"b"}` pass for
/// the agent `a:b`, so the party spelling needs it plain.
pub(crate) fn is_agent_type(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_name_byte)
}

/// 8 to 128 printable ASCII characters without a space (UAI 1.4).
fn is_idempotency_key(text: &str) -> bool {
    (8..=128).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic())
}

/// Dotted segments of letters, digits, `_`, `-`, at most 255 characters (UAI 9.3 Q3).
pub(crate) fn is_topic(text: &str) -> bool {
    text.len() <= 255
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(is_name_byte))
}

/// `uai.<family>.<name>.v<major>` (UAI 1.1).
pub(super) fn is_profile_id(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
    };
    let is_major = |part: &str| {
        part.strip_prefix('v').is_some_and(|digits| {
            !digits.is_empty()
                && !digits.starts_with('0')
                && digits.bytes().all(|c| c.is_ascii_digit())
        })
    };
    parts.next() == Some("uai")
        && parts.next_back().is_some_and(is_major)
        && parts.clone().count() >= 2
        && parts.all(is_part)
}

/// W3C trace context, version 00, ids not all zero (UAI 1.3).
fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|c| c != b'0');
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.as_slice(), ["00", trace, span, flags]
        if is_hex(trace, 32) && is_set(trace) && is_hex(span, 16) && is_set(span) && is_hex(flags, 2))
}

/// A URI with a scheme and without spaces or control characters.
fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'.' | b'-'))
            && !rest.is_empty()
            && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

/// A decentralised identifier: `did:<method>:<id>`.
fn is_did(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    parts.next() == Some("did")
        && parts.next().is_some_and(|method| {
            !method.is_empty()
                && method
                    .bytes()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        })
        && parts
            .next()
            .is_some_and(|id| !id.is_empty() && !id.contains(char::is_whitespace))
}

/// RFC 3339 in UTC with a literal `Z`; no leap second (UAI 1.1).
pub(super) fn utc_time(text: &str) -> Option<Timestamp> {
    let (moment, zone) = Timestamp::parse_rfc3339(text)?;
    (zone == Zone::Utc && text.get(17..19) != Some("60")).then_some(moment)
}

/// `sha256:` and 64 lower-case hexadecimal digits (UAI 1.7).
pub(super) fn is_checksum(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn is_name_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::{
        is_agent_type, is_did, is_idempotency_key, is_identifier, is_profile_id, is_topic,
        is_traceparent, is_uri, utc_time,
    };

    fn sorts(accepts: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(accepts(text), "{text:?} should be accepted");
        }
        for text in bad {
            assert!(!accepts(text), "{text:?} should be refused");
        }
    }

    #[test]
    fn identifiers_start_with_a_letter_or_digit() {
        let longest = "a".repeat(128);
        sorts(
            is_identifier,
            &["agt_alpha", "task_42", "a", "9.:-_", &longest],
            &["", "_a", ".a", "a b", "é", &"a".repeat(129)],
        );
    }

    #[test]
    fn an_agent_type_cannot_smuggle_a_separator() {
        sorts(
            is_agent_type,
            &["agent", "limited-browser"],
            &["", "agent:x", "agent.x", "a b"],
        );
    }

    #[test]
    fn keys_topics_and_profiles_follow_their_grammars() {
        sorts(
            is_idempotency_key,
            &["12345678", "a/b=c~d!"],
            &["1234567", "1234 678", "1234567é"],
        );
        sorts(
            is_topic,
            &["a", "a.b-c.D_1"],
            &["", ".", "a.", ".a", "a..b", "a.*", "a b"],
        );
        sorts(
            is_profile_id,
            &["uai.intent.request.v1", "uai.client.limited-browser.v12"],
            &[
                "uai.v1",
                "uai.intent.v1",
                "jai.a.b.v1",
                "uai.a.b.v0",
                "uai.a.b.1",
                "uai.A.b.v1",
                "",
            ],
        );
    }

    #[test]
    fn references_need_a_scheme_or_method() {
        sorts(
            is_uri,
            &["https://a/b", "log://m/1", "urn:x"],
            &["a/b", ":x", "1:x", "a:", "a:b c"],
        );
        sorts(
            is_did,
            &["did:key:z6Mk", "did:web:a.b"],
            &["did:key:", "did::a", "key:a", "did:K:a"],
        );
    }

    #[test]
    fn trace_context_is_version_zero_with_ids_set() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let span = "00f067aa0ba902b7";
        assert!(is_traceparent(&format!("00-{trace}-{span}-01")));
        for text in [
            format!("01-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-{span}-01-x"),
            format!("00-{trace}-{span}"),
        ] {
            assert!(!is_traceparent(&text), "{text}");
        }
    }

    #[test]
    fn times_end_in_z() {
        for text in ["2026-07-01T12:00:00Z", "2026-07-01T12:00:00.123456789Z"] {
            assert!(utc_time(text).is_some(), "{text}");
        }
        for text in [
            "2026-07-01T12:00:00+00:00",
            "2026-07-01T12:00:00z",
            "2026-07-01T12:00:60Z",
            "2026-02-30T12:00:00Z",
            "2026-07-01",
        ] {
            assert!(utc_time(text).is_none(), "{text}");
        }
    }
}
