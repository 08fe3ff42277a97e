//! Writing and reading the JSON frames. Envelopes are copied between them, never parsed into a tree.

use crate::Error;
use protocol::json::Limits;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// More than any exchange takes; only keeps the reader from unbounded work.
const LIMITS: Limits = Limits {
    bytes_max: 256 << 20,
    depth_max: 4_096,
};

/// `,"name":` and the bytes, which must be exactly one JSON value as the exchange reads it: anything
/// else could change the frame around it, or make it unreadable and so its answer anonymous.
pub(super) fn member(name: &str, value: &[u8]) -> Result<String, Error> {
    let document = protocol::json::read(value, LIMITS)
        .map_err(|fault| Error::Input(format!("expected one JSON value as envelope: {fault}")))?;
    let text = document.root().raw();
    let mut out = String::with_capacity(text.len() + name.len() + 4);
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    out.push_str(text);
    Ok(out)
}

/// The members of a JSON object, each with a comma before it.
pub(super) fn members(object: &serde_json::Value) -> String {
    let mut out = String::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(&value.to_string());
    }
    out
}

/// A frame of the exchange.
#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    #[serde(borrow)]
    pub op: Cow<'a, str>,
    #[serde(borrow, default, rename = "ref")]
    pub reference: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub receipt: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub fault: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub envelope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub cursor: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub delivery: Option<Cow<'a, str>>,
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub redelivered: bool,
    #[serde(borrow, default)]
    pub consumer: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub lease_until: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub retry_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::{Incoming, member, members};

    #[test]
    fn an_envelope_is_carried_as_it_is_or_not_at_all() {
        assert_eq!(
            member("envelope", b"{ \"a\" : 1.0 }").unwrap(),
            ",\"envelope\":{ \"a\" : 1.0 }"
        );
        for bytes in [
            &b"{},\"op\":\"x\""[..],
            b"{",
            b"",
            b"\xff",
            b"{\"a\":1,\"a\":2}",
        ] {
            assert!(member("envelope", bytes).is_err());
        }
    }

    #[test]
    fn members_follow_a_comma() {
        assert_eq!(members(&serde_json::json!({"a": 1})), ",\"a\":1");
    }

    #[test]
    fn a_delivered_envelope_keeps_its_spelling() {
        let text = r#"{"op":"deliver","ref":"3","cursor":"c","envelope":{"n":1.50, "s":"\u00fc"}}"#;
        let frame: Incoming<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(frame.envelope.unwrap().get(), r#"{"n":1.50, "s":"\u00fc"}"#);
    }
}
