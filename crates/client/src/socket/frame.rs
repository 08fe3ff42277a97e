//! Writing and reading the JSON frames. Envelopes are copied between them, never parsed into a tree.

use crate::Error;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// `,"name":` and the bytes, which must be exactly one JSON value: anything else could change the
/// frame around it.
pub(super) fn member(name: &str, value: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(value)
        .map_err(|_| Error::Input("expected an envelope in UTF-8, got other bytes".into()))?;
    serde_json::from_str::<&RawValue>(text)
        .map_err(|error| Error::Input(format!("expected one JSON value as envelope: {error}")))?;
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
    #[serde(borrow, default)]
    pub lease_until: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
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
        for bytes in [&b"{},\"op\":\"x\""[..], b"{", b"", b"\xff"] {
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
