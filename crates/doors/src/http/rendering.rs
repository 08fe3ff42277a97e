//! In which dialect a reader wants to be told: `as=`.

use super::members::Members;
use super::problem;
use broker::{Entry, Shown};
use protocol::json::push_string;
use protocol::{DialectName, Fault, Rejection};

/// The dialect, or as each message was sent.
pub(crate) type As = Option<DialectName>;

const EXPECTED: &str = "aee, aep, uai or native";

fn parse(word: &str) -> Option<As> {
    match word {
        "native" => Some(None),
        _ => DialectName::parse(word).map(Some),
    }
}

/// `as` of a frame.
pub(crate) fn from_members(members: &mut Members<'_>) -> As {
    let text = members.text("as")?;
    parse(&text).unwrap_or_else(|| {
        members.refuse(
            "as",
            format!("expected `as` to be {EXPECTED}, got {text:?}"),
        );
        None
    })
}

/// `as` of a message, where empty means native.
pub(crate) fn from_text(text: &str) -> Result<As, Rejection> {
    if text.is_empty() {
        return Ok(None);
    }
    parse(text).ok_or_else(|| {
        problem::bad_request(
            "/as",
            format!("expected `as` to be {EXPECTED}, got {text:?}"),
        )
    })
}

/// Appends what a reader that asked for a dialect is told beside the envelope: `"as":"aee",`, or why
/// not.
pub(crate) fn write_note(out: &mut String, wanted: As, shown: Shown<'_>) {
    if let Some(fault) = shown.untranslated {
        out.push_str("\"untranslated\":");
        write_fault(out, fault);
        out.push(',');
    } else if let Some(dialect) = wanted {
        out.push_str("\"as\":\"");
        out.push_str(dialect.as_str());
        out.push_str("\",");
    }
}

pub(crate) fn write_fault(out: &mut String, fault: &Fault) {
    out.push_str("{\"code\":");
    push_string(out, fault.code.as_str());
    for (name, text) in [
        ("pointer", &*fault.pointer),
        ("rule", fault.rule),
        ("detail", &*fault.detail),
    ] {
        out.push(',');
        push_string(out, name);
        out.push(':');
        push_string(out, text);
    }
    out.push('}');
}

/// `{"untranslated":{...},"envelope":...}` of a message that cannot be said in the reader's dialect.
pub(crate) fn untranslated(fault: &Fault, entry: &Entry) -> Vec<u8> {
    let mut head = String::from("{\"untranslated\":");
    write_fault(&mut head, fault);
    head.push_str(",\"envelope\":");
    let mut out = head.into_bytes();
    out.extend_from_slice(&entry.envelope);
    out.push(b'}');
    out
}
