//! Which attributes an envelope has as an event, and how a header carries them.

use super::SPEC_VERSION;
use crate::{DialectName, Header, Party, Timestamp};

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name: lower-case letters and digits.
    pub name: &'static str,
    /// Its value in canonical text.
    pub value: String,
    /// Whether JSON writes it without quotes.
    pub is_number: bool,
}

/// What the exchange knows of a message beside its envelope.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// When it was accepted.
    pub at: Timestamp,
    /// Its place in the journal.
    pub cursor: String,
    /// The delivery that hands it out, if one does.
    pub delivery: Option<String>,
    /// Which attempt that is.
    pub attempt: Option<u32>,
}

/// The attributes of an envelope, those that CloudEvents requires first.
#[must_use]
pub fn attributes(header: &Header, context: &Context) -> Vec<Attribute> {
    let mut all = Vec::with_capacity(16);
    let mut put = |name, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            all.push(Attribute {
                name,
                value,
                is_number: false,
            });
        }
    };
    let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    put("specversion", Some(SPEC_VERSION.into()));
    put("id", Some(header.id.to_string()));
    put("source", Some(source(&header.sender)));
    put("type", Some(kind(header.dialect, &header.kind)));
    put("subject", text(&header.task));
    put("time", Some(context.at.to_string()));
    put("datacontenttype", Some("application/json".into()));
    put("partitionkey", text(&header.conversation));
    put("correlationid", text(&header.correlation));
    put("causationid", text(&header.cause));
    put(
        "expirytime",
        header.deadline.map(|moment| moment.to_string()),
    );
    put("interwiredialect", Some(header.dialect.as_str().into()));
    put("interwirecursor", Some(context.cursor.clone()));
    put("interwiredelivery", context.delivery.clone());
    if let Some(attempt) = context.attempt {
        all.push(Attribute {
            name: "interwireattempt",
            value: attempt.to_string(),
            is_number: true,
        });
    }
    all
}

/// The sender as a URI reference: its canonical spelling, in which only what a URI cannot hold is
/// percent-encoded.
pub(super) fn source(party: &Party) -> String {
    let has_kind = party.kind().is_some();
    let mut out = String::with_capacity(party.as_str().len());
    for byte in party.as_str().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'/' | b'@' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')'
            | b'*' | b'+' | b',' | b';' | b'=' => out.push(char::from(byte)),
            // Without a kind it would read as the end of a scheme.
            b':' if has_kind => out.push(':'),
            _ => push_percent(&mut out, byte),
        }
    }
    out
}

/// `aee.task`, `aep.memory.updated`, `uai.agent.ack.v1`.
pub(super) fn kind(dialect: DialectName, kind: &str) -> String {
    let dialect = dialect.as_str();
    match kind.strip_prefix(dialect) {
        Some(rest) if rest.starts_with('.') => kind.to_owned(),
        _ => format!("{dialect}.{kind}"),
    }
}

/// A value as the HTTP binding writes it into a header: spaces, quotes, percent signs and whatever is
/// not printable ASCII are percent-encoded.
#[must_use]
pub fn encode_header(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'%' => push_percent(&mut out, byte),
            b'!'..=b'~' => out.push(char::from(byte)),
            _ => push_percent(&mut out, byte),
        }
    }
    out
}

/// Undoes [`encode_header`], and takes a quoted string of HTTP too; `None` when it is not UTF-8 or a
/// percent sign begins no escape.
#[must_use]
pub fn decode_header(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let quoted = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let plain: Vec<u8> = match quoted {
        Some(inside) => {
            let mut out = Vec::with_capacity(inside.len());
            let mut bytes = inside.bytes();
            while let Some(byte) = bytes.next() {
                out.push(if byte == b'\\' { bytes.next()? } else { byte });
            }
            out
        }
        None => text.as_bytes().to_vec(),
    };
    decode_percent(&plain)
}

/// Undoes percent-encoding.
pub(super) fn decode_percent(text: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    let nibble = |byte: Option<&u8>| {
        let digit = char::from(*byte?).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => out.push(nibble(rest.next())? << 4 | nibble(rest.next())?),
            _ => out.push(*byte),
        }
    }
    String::from_utf8(out).ok()
}

fn push_percent(out: &mut String, byte: u8) {
    out.push('%');
    for nibble in [byte >> 4, byte & 15] {
        let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
    }
}
