//! The keyless form: arrays in table order instead of objects.
//!
//! Conversion only; the keyed text it gives is validated, hashed and verified like any other. Members
//! without a table (extension payloads, parameters, bodies of unknown profiles) stay keyed in their
//! slot. Lossless in both directions or refused. Implements UAI 2 F2 to F8.

use super::body::profile;
use super::table::{AGENT, ENVELOPE, EXTENSION, PARTS};
use crate::fault::note;
use crate::json::{Kind, Value, push_string};
use crate::shape::Shape;
use crate::{Code, Fault};

/// Whether an array is meant as a keyless envelope: a version, then a `uai.` profile id.
#[must_use]
pub fn is_keyless(doc: Value<'_>) -> bool {
    let mut items = doc.items();
    let version = items.next().and_then(Value::as_str);
    let profile = items.next().and_then(Value::as_str);
    version.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        && profile.is_some_and(|id| id.starts_with("uai."))
}

/// The keyed text of a keyless envelope.
///
/// # Errors
/// Every `keyless_overflow` and `keyless_shape`, with pointers into the array.
pub fn to_keyed(doc: Value<'_>) -> Result<String, Vec<Fault>> {
    let mut writer = Keyed {
        out: String::with_capacity(doc.raw().len() * 2),
        faults: Vec::new(),
    };
    writer.envelope(doc);
    if writer.faults.is_empty() {
        Ok(writer.out)
    } else {
        Err(writer.faults)
    }
}

/// The keyless text of a keyed envelope.
///
/// # Errors
/// `keyless_unmapped_field` for a member without a slot, `keyless_null_value` for a null that would
/// read as absent, `keyless_shape` for a missing or mistyped member.
pub fn to_keyless(doc: Value<'_>) -> Result<String, Vec<Fault>> {
    let mut writer = Positional {
        out: String::with_capacity(doc.raw().len()),
        faults: Vec::new(),
    };
    writer.envelope(doc);
    if writer.faults.is_empty() {
        Ok(writer.out)
    } else {
        Err(writer.faults)
    }
}

/// The table of one envelope member, when it becomes an array.
fn shape_of(name: &str, profile_id: &str) -> Option<&'static Shape> {
    match name {
        "body" => profile(profile_id).map(|profile| profile.body),
        _ => PARTS
            .iter()
            .find(|(part, ..)| *part == name)
            .map(|(_, shape, _)| *shape),
    }
}

struct Keyed {
    out: String,
    faults: Vec<Fault>,
}

impl Keyed {
    fn envelope(&mut self, doc: Value<'_>) {
        if !self.has_length(doc, ENVELOPE.members.len(), "") {
            return;
        }
        let profile_id = doc
            .items()
            .nth(1)
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.out.push('{');
        for (index, (member, slot)) in ENVELOPE.members.iter().zip(doc.items()).enumerate() {
            let pointer = format!("/{index}");
            self.name(member.name);
            match member.name {
                "target" => self.targets(slot, &pointer),
                "extensions" => self.list(&EXTENSION, slot, &pointer, 0),
                name => match shape_of(name, &profile_id) {
                    Some(shape) => self.record(shape, slot, &pointer),
                    None if slot.is_null() => self.misshapen(&pointer, "a value", slot),
                    None => self.out.push_str(slot.raw()),
                },
            }
        }
        self.out.push('}');
    }

    /// One agent array, or a list of two and more whose tail becomes `additional_targets` (F6).
    fn targets(&mut self, slot: Value<'_>, pointer: &str) {
        let Some(first) = slot
            .items()
            .next()
            .filter(|first| first.kind() == Kind::Array)
        else {
            self.record(&AGENT, slot, pointer);
            return;
        };
        if slot.items().count() < 2 {
            let detail = "expected one agent or a list of two and more, got a list of one";
            self.faults
                .push(Fault::new(Code::KeylessShape, pointer, "UAI 2 F6", detail));
        }
        self.record(&AGENT, first, &format!("{pointer}/0"));
        self.name("additional_targets");
        self.list(&AGENT, slot, pointer, 1);
    }

    fn list(&mut self, shape: &Shape, slot: Value<'_>, pointer: &str, skip: usize) {
        if slot.kind() != Kind::Array {
            self.misshapen(pointer, "an array", slot);
            return;
        }
        self.out.push('[');
        for (index, item) in slot.items().enumerate().skip(skip) {
            if index > skip {
                self.out.push(',');
            }
            self.record(shape, item, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn record(&mut self, shape: &Shape, slot: Value<'_>, pointer: &str) {
        if slot.kind() != Kind::Array {
            self.misshapen(pointer, "an array", slot);
            return;
        }
        if !self.has_length(slot, shape.members.len(), pointer) {
            return;
        }
        self.out.push('{');
        for (index, (member, value)) in shape.members.iter().zip(slot.items()).enumerate() {
            if !value.is_null() {
                self.name(member.name);
                self.out.push_str(value.raw());
            } else if member.missing.is_some() {
                let what = format!("a value for `{}`", member.name);
                self.misshapen(&format!("{pointer}/{index}"), &what, value);
            }
        }
        self.out.push('}');
    }

    fn name(&mut self, name: &str) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        push_string(&mut self.out, name);
        self.out.push(':');
    }

    fn has_length(&mut self, slot: Value<'_>, length: usize, pointer: &str) -> bool {
        let count = slot.items().count();
        if count != length {
            let code = if count > length {
                Code::KeylessOverflow
            } else {
                Code::KeylessShape
            };
            let detail = format!("expected {length} slots, got {count}");
            self.faults
                .push(Fault::new(code, pointer, "UAI 2 F3", detail));
        }
        count == length
    }

    fn misshapen(&mut self, pointer: &str, expected: &str, slot: Value<'_>) {
        let detail = format!("expected {expected}, got {}", slot.kind().as_str());
        self.faults
            .push(Fault::new(Code::KeylessShape, pointer, "UAI 2 F3", detail));
    }
}

struct Positional {
    out: String,
    faults: Vec<Fault>,
}

impl Positional {
    fn envelope(&mut self, doc: Value<'_>) {
        let profile_id = doc
            .get("profile")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let additional = doc.get("additional_targets");
        self.unmapped(&ENVELOPE, doc, "", &["additional_targets"]);
        self.out.push('[');
        for member in ENVELOPE.members {
            self.comma();
            let pointer = format!("/{}", member.name);
            let Some(value) = doc.get(member.name) else {
                self.misshapen(&pointer, "a value", "nothing");
                continue;
            };
            match (member.name, additional) {
                ("target", Some(others)) => self.targets(value, others),
                ("extensions", _) => self.list(&EXTENSION, value, &pointer),
                (name, _) => match shape_of(name, &profile_id) {
                    Some(shape) => self.record(shape, value, &pointer),
                    None if value.is_null() => self.null(&pointer),
                    None => self.out.push_str(value.raw()),
                },
            }
        }
        self.out.push(']');
    }

    fn targets(&mut self, target: Value<'_>, others: Value<'_>) {
        let pointer = "/additional_targets";
        if others.items().next().is_none() {
            self.misshapen(
                pointer,
                "an array of one or more agents",
                others.kind().as_str(),
            );
            return;
        }
        self.out.push('[');
        self.record(&AGENT, target, "/target");
        for (index, other) in others.items().enumerate() {
            self.comma();
            self.record(&AGENT, other, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn list(&mut self, shape: &Shape, value: Value<'_>, pointer: &str) {
        if value.kind() != Kind::Array {
            self.misshapen(pointer, "an array", value.kind().as_str());
            return;
        }
        self.out.push('[');
        for (index, item) in value.items().enumerate() {
            self.comma();
            self.record(shape, item, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn record(&mut self, shape: &Shape, value: Value<'_>, pointer: &str) {
        if value.kind() != Kind::Object {
            self.misshapen(pointer, "an object", value.kind().as_str());
            return;
        }
        self.unmapped(shape, value, pointer, &[]);
        self.out.push('[');
        for member in shape.members {
            self.comma();
            match value.get(member.name) {
                Some(null) if null.is_null() => self.null(&format!("{pointer}/{}", member.name)),
                Some(present) => self.out.push_str(present.raw()),
                None if member.missing.is_some() => {
                    self.misshapen(&format!("{pointer}/{}", member.name), "a value", "nothing");
                }
                None => self.out.push_str("null"),
            }
        }
        self.out.push(']');
    }

    fn unmapped(&mut self, shape: &Shape, value: Value<'_>, pointer: &str, besides: &[&str]) {
        for (key, _) in value.members() {
            let name = key.text();
            let has_slot = shape.members.iter().any(|member| member.name == name);
            if !has_slot && !besides.contains(&&*name) {
                let mut pointer = format!("{pointer}/");
                crate::json::push_escaped(&mut pointer, &name);
                let detail = "expected only members that have a slot, got another";
                note(
                    &mut self.faults,
                    Fault::new(Code::KeylessUnmappedField, pointer, "UAI 2 F5", detail),
                );
            }
        }
    }

    fn null(&mut self, pointer: &str) {
        let detail = "expected a value or no member, got null, which reads as absent";
        note(
            &mut self.faults,
            Fault::new(Code::KeylessNullValue, pointer, "UAI 2 F4", detail),
        );
    }

    fn comma(&mut self) {
        if !self.out.ends_with('[') {
            self.out.push(',');
        }
    }

    fn misshapen(&mut self, pointer: &str, expected: &str, got: &str) {
        let detail = format!("expected {expected}, got {got}");
        self.faults
            .push(Fault::new(Code::KeylessShape, pointer, "UAI 2 F3", detail));
    }
}
