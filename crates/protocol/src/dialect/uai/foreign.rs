//! Formats that only share the name: told apart and named, never guessed at.
//!
//! Implements UAI 8 and 10 G2 to G4.

use crate::json::{Kind, Value};
use crate::{Code, Fault};

const RULE: &str = "UAI 10 G3";

/// Names the other format a JSON value is in, when it is one of the known look-alikes.
#[must_use]
pub fn look_alike(doc: Value<'_>) -> Option<Fault> {
    match doc.kind() {
        Kind::Object => object(doc),
        Kind::Array => array(doc),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
    }
}

/// Names the file a text is, when it is a UAIX memory record or package and so no JSON at all.
#[must_use]
pub fn look_alike_bytes(bytes: &[u8]) -> Option<Fault> {
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(foreign(
            "expected an envelope, got a ZIP file, perhaps a `.uaix` package",
        ));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    text.lines()
        .take(MEMORY_LINES)
        .any(|line| line.trim_start().starts_with("Purpose:"))
        .then(|| foreign("expected an envelope, got a `.uai` memory record, which is no message"))
}

/// Lines in which a memory record says its purpose (UAI 8 rule 6).
const MEMORY_LINES: usize = 20;

fn foreign(detail: &str) -> Fault {
    Fault::new(Code::ForeignFormat, "", RULE, detail)
}

fn object(doc: Value<'_>) -> Option<Fault> {
    let text = |name: &str| doc.get(name).and_then(Value::as_str);
    let starts = |name: &str, with: &str| text(name).is_some_and(|text| text.starts_with(with));
    if doc.get("uaix_version").is_some() && doc.get("uai_version").is_none() {
        return Some(Fault::new(
            Code::SupersededDraftShape,
            "/uaix_version",
            "UAI 10 G4",
            "expected `uai_version`, got the `uaix_version` of the first draft",
        ));
    }
    let version = text("uai_version").unwrap_or_default();
    if starts("profile", "jai.") || version.trim_matches(['<', '>']) == "UAI-1" {
        return Some(foreign(
            "expected the UAIX envelope, got the JustAnIota profile of UAI-1",
        ));
    }
    if ["id", "did", "subject", "controller"]
        .iter()
        .any(|name| starts(name, "did:uai:"))
    {
        return Some(foreign(
            "expected the UAIX envelope, got a document of the `did:uai` method",
        ));
    }
    if text("spec").is_some_and(|spec| spec == "UAI-1") {
        return Some(foreign(
            "expected the UAIX envelope, got a Protocol5 page document",
        ));
    }
    let has_only = |names: &[&str]| {
        doc.members().count() == names.len()
            && names
                .iter()
                .all(|name| doc.get(name).is_some_and(|v| v.kind() == Kind::String))
    };
    has_only(&["code", "url"])
        .then(|| foreign("expected the UAIX envelope, got the reply of a UAIX GET action"))
}

fn array(doc: Value<'_>) -> Option<Fault> {
    let first = doc.items().next()?;
    if first.as_str().is_some_and(|text| text.starts_with("jai.")) {
        return Some(foreign(
            "expected the UAIX envelope, got a keyless JustAnIota message",
        ));
    }
    // Digits of radix 63404, one number each; two numbers could be anything.
    const RADIX: i64 = 63_404;
    let is_digits = doc
        .items()
        .all(|item| item.as_i64().is_some_and(|n| (0..RADIX).contains(&n)));
    (is_digits && doc.items().count() > 2)
        .then(|| foreign("expected the UAIX envelope, got a Protocol5 radix array"))
}
