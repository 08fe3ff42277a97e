//! Fixtures for other readers of UAI-1.
//!
//! Positive ones are every example in its three forms, with one canonical hash; negative ones are the example
//! of one profile with one thing wrong. Implements the fixture list of UAI 2 and 7 `/conformance-pack`.

use super::super::build::{Object, list, texts};
use super::super::carriage::{edit, sealed};
use super::super::form::Form;
use super::super::{TABLE_VERSION, keyless};
use super::{example, profiles};
use crate::json::{self, Document, Value};
use crate::{Fault, canonical};

/// The profile of every negative fixture.
const SPOILED: &str = "uai.agent.message.v1";

pub(super) fn pack() -> Result<String, Fault> {
    let mut fixtures = Vec::new();
    for profile in profiles() {
        let text = example(profile).unwrap_or_default();
        let document = read(&text)?;
        let doc = document.root();
        let hash = format!("sha256:{}", canonical::canonical_hash(doc)?.to_hex());
        let positional = keyless::to_keyless(doc).map_err(first)?;
        for (form, text) in [
            (Form::Keyed, spaced(doc)),
            (Form::MinifiedKeyed, text.clone()),
            (Form::Keyless, positional),
        ] {
            let fixture = Object::new()
                .text("name", &format!("{profile} {}", form.as_str()))
                .text("profile", profile)
                .text("form", form.as_str())
                .raw("valid", "true")
                .text("canonical_hash", &hash)
                .raw("expect", "[]")
                .text("text", &text);
            fixtures.push(fixture.close());
        }
    }
    fixtures.extend(negatives()?);
    let pack = Object::new()
        .text("field_order", TABLE_VERSION)
        .text("now", "2026-07-01T12:00:00Z")
        .raw("fixtures", &list(&fixtures));
    Ok(pack.close())
}

/// Name, form, codes, and what is changed.
fn negatives() -> Result<Vec<String>, Fault> {
    let text = example(SPOILED).unwrap_or_default();
    let document = read(&text)?;
    let doc = document.root();
    let part = |name: &str, changes: &[(&str, Option<String>)]| {
        let part = doc.get(name).map(|part| edit(part, changes));
        edit(doc, &[(name, part)])
    };
    let positional = keyless::to_keyless(doc).map_err(first)?;
    let array = read(&positional)?;
    let slots: Vec<String> = array.root().items().map(|slot| slot.raw().into()).collect();
    let shorter = slots.get(..11).unwrap_or_default();
    let longer: Vec<String> = slots.iter().cloned().chain(["[]".into()]).collect();
    let zero = format!("\"00-{}-00f067aa0ba902b7-01\"", "0".repeat(32));
    let id = doc.get("message_id").map(|id| id.raw().to_owned());
    let rows: [(&str, Form, &[&str], String); 7] = [
        (
            "schema",
            Form::MinifiedKeyed,
            &["undeclared_field"],
            sealed(&edit(doc, &[("note", Some("\"extra\"".into()))]))?,
        ),
        (
            "trace",
            Form::MinifiedKeyed,
            &["traceparent_malformed"],
            sealed(&part("conversation", &[("traceparent", Some(zero))]))?,
        ),
        (
            "trust",
            Form::MinifiedKeyed,
            &["trust_reference_missing"],
            sealed(&part(
                "trust",
                &[("auth_scheme", Some("\"bearer\"".into()))],
            ))?,
        ),
        (
            "checksum",
            Form::MinifiedKeyed,
            &["checksum_mismatch"],
            part(
                "body",
                &[("content", Some("\"Changed on the way.\"".into()))],
            ),
        ),
        (
            "keyless-shape",
            Form::Keyless,
            &["keyless_shape"],
            list(shorter),
        ),
        (
            "keyless-overflow",
            Form::Keyless,
            &["keyless_overflow"],
            list(&longer),
        ),
        (
            // No short name exists (UAI 2 F1), so one is an undeclared member, and the long one is missing.
            "unsupported-alias",
            Form::MinifiedKeyed,
            &["missing_field", "undeclared_field"],
            sealed(&edit(doc, &[("message_id", None), ("mid", id)]))?,
        ),
    ];
    let fixture = |(name, form, expect, text): &(&str, Form, &[&str], String)| {
        let expect: Vec<String> = expect.iter().map(|code| (*code).to_owned()).collect();
        Object::new()
            .text("name", name)
            .text("profile", SPOILED)
            .text("form", form.as_str())
            .raw("valid", "false")
            .raw("expect", &texts(&expect))
            .text("text", text)
            .close()
    };
    Ok(rows.iter().map(fixture).collect())
}

/// The same members with space between them.
fn spaced(doc: Value<'_>) -> String {
    let mut out = String::from("{\n");
    for (at, (key, value)) in doc.members().enumerate() {
        out.push_str(if at > 0 { ",\n  " } else { "  " });
        json::push_string(&mut out, &key.text());
        out.push_str(": ");
        out.push_str(value.raw());
    }
    out.push_str("\n}\n");
    out
}

fn read(text: &str) -> Result<Document<'_>, Fault> {
    let limits = json::Limits {
        bytes_max: usize::MAX,
        depth_max: 64,
    };
    json::read(text.as_bytes(), limits)
}

fn first(faults: Vec<Fault>) -> Fault {
    let none = || {
        Fault::new(
            crate::Code::InternalError,
            "",
            "UAI 2",
            "no fault was given",
        )
    };
    faults.into_iter().next().unwrap_or_else(none)
}
