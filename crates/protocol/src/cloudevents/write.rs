//! The JSON form of an event.

use super::attributes::{Context, attributes};
use crate::json::push_string;
use crate::{Header, base64};

/// How the envelope stands in the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataForm {
    /// As the JSON value that it is, its text untouched. One with space around it, or with a carriage
    /// return, is written as base64: neither would come back.
    #[default]
    Json,
    /// As base64, for libraries that read JSON and write it again in their own spelling.
    Base64,
}

impl DataForm {
    /// The word on every surface: `json`, `base64`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }
}

/// Appends the event of an envelope, one JSON object.
pub fn write(
    out: &mut Vec<u8>,
    header: &Header,
    context: &Context,
    envelope: &[u8],
    form: DataForm,
) {
    let mut head = String::with_capacity(512);
    for attribute in attributes(header, context) {
        head.push(if head.is_empty() { '{' } else { ',' });
        push_string(&mut head, attribute.name);
        head.push(':');
        if attribute.is_number {
            head.push_str(&attribute.value);
        } else {
            push_string(&mut head, &attribute.value);
        }
    }
    out.extend_from_slice(head.as_bytes());
    if form == DataForm::Json && is_kept_as_a_value(envelope) {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(envelope);
    } else {
        out.extend_from_slice(b",\"data_base64\":\"");
        base64::encode(out, envelope);
        out.push(b'"');
    }
    out.push(b'}');
}

/// Whether the text of a JSON value is all there is: space around a value belongs to nobody once it
/// stands inside another.
fn is_kept_as_a_value(envelope: &[u8]) -> bool {
    envelope.first() == Some(&b'{') && envelope.last() == Some(&b'}') && !envelope.contains(&b'\r')
}
