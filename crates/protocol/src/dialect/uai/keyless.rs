//! The keyless form: arrays in table order instead of objects.
//!
//! Conversion only; the keyed text it gives is validated, hashed and verified like any other. Members
//! without a table (extension payloads, parameters, bodies of unknown profiles) stay keyed in their
//! slot. Lossless in both directions or refused. Implements UAI 2 F2 to F8.

use super::field_order::{FieldOrder, Slot};
use crate::fault::note;
use crate::json::{Kind, Value, push_string};
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
    to_keyed_in(doc, FieldOrder::ours())
}

/// As [`to_keyed`], by other tables.
///
/// # Errors
/// As [`to_keyed`].
pub fn to_keyed_in(doc: Value<'_>, order: &FieldOrder) -> Result<String, Vec<Fault>> {
    let mut writer = Keyed {
        order,
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
    to_keyless_in(doc, FieldOrder::ours())
}

/// As [`to_keyless`], by other tables.
///
/// # Errors
/// As [`to_keyless`].
pub fn to_keyless_in(doc: Value<'_>, order: &FieldOrder) -> Result<String, Vec<Fault>> {
    let mut writer = Positional {
        order,
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

struct Keyed<'o> {
    order: &'o FieldOrder,
    out: String,
    faults: Vec<Fault>,
}

impl<'o> Keyed<'o> {
    fn table(&self, name: &str) -> &'o [Slot] {
        self.order.table(name).unwrap_or_default()
    }

    fn envelope(&mut self, doc: Value<'_>) {
        let envelope = self.table("envelope");
        if !self.has_length(doc, envelope.len(), "") {
            return;
        }
        let profile_id = doc
            .items()
            .nth(1)
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.out.push('{');
        for (index, (member, slot)) in envelope.iter().zip(doc.items()).enumerate() {
            let pointer = format!("/{index}");
            self.name(&member.name);
            match &*member.name {
                "target" => self.targets(slot, &pointer),
                "extensions" => self.list(self.table("extension_record"), slot, &pointer, 0),
                name => match self.order.of_member(name, &profile_id) {
                    Some(slots) => self.record(slots, slot, &pointer),
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
            self.record(self.table("agent"), slot, pointer);
            return;
        };
        if slot.items().count() < 2 {
            let detail = "expected one agent or a list of two and more, got a list of one";
            self.faults
                .push(Fault::new(Code::KeylessShape, pointer, "UAI 2 F6", detail));
        }
        self.record(self.table("agent"), first, &format!("{pointer}/0"));
        self.name("additional_targets");
        self.list(self.table("agent"), slot, pointer, 1);
    }

    fn list(&mut self, slots: &[Slot], slot: Value<'_>, pointer: &str, skip: usize) {
        if slot.kind() != Kind::Array {
            self.misshapen(pointer, "an array", slot);
            return;
        }
        self.out.push('[');
        for (index, item) in slot.items().enumerate().skip(skip) {
            if index > skip {
                self.out.push(',');
            }
            self.record(slots, item, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn record(&mut self, slots: &[Slot], slot: Value<'_>, pointer: &str) {
        if slot.kind() != Kind::Array {
            self.misshapen(pointer, "an array", slot);
            return;
        }
        if !self.has_length(slot, slots.len(), pointer) {
            return;
        }
        self.out.push('{');
        for (index, (member, value)) in slots.iter().zip(slot.items()).enumerate() {
            if !value.is_null() {
                self.name(&member.name);
                self.out.push_str(value.raw());
            } else if member.is_required {
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

struct Positional<'o> {
    order: &'o FieldOrder,
    out: String,
    faults: Vec<Fault>,
}

impl<'o> Positional<'o> {
    fn table(&self, name: &str) -> &'o [Slot] {
        self.order.table(name).unwrap_or_default()
    }

    fn envelope(&mut self, doc: Value<'_>) {
        let profile_id = doc
            .get("profile")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let additional = doc.get("additional_targets");
        let envelope = self.table("envelope");
        self.unmapped(envelope, doc, "", &["additional_targets"]);
        self.out.push('[');
        for member in envelope {
            self.comma();
            let pointer = format!("/{}", member.name);
            let Some(value) = doc.get(&member.name) else {
                self.misshapen(&pointer, "a value", "nothing");
                continue;
            };
            match (&*member.name, additional) {
                ("target", Some(others)) => self.targets(value, others),
                ("extensions", _) => self.list(self.table("extension_record"), value, &pointer),
                (name, _) => match self.order.of_member(name, &profile_id) {
                    Some(slots) => self.record(slots, value, &pointer),
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
        self.record(self.table("agent"), target, "/target");
        for (index, other) in others.items().enumerate() {
            self.comma();
            self.record(self.table("agent"), other, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn list(&mut self, slots: &[Slot], value: Value<'_>, pointer: &str) {
        if value.kind() != Kind::Array {
            self.misshapen(pointer, "an array", value.kind().as_str());
            return;
        }
        self.out.push('[');
        for (index, item) in value.items().enumerate() {
            self.comma();
            self.record(slots, item, &format!("{pointer}/{index}"));
        }
        self.out.push(']');
    }

    fn record(&mut self, slots: &[Slot], value: Value<'_>, pointer: &str) {
        if value.kind() != Kind::Object {
            self.misshapen(pointer, "an object", value.kind().as_str());
            return;
        }
        self.unmapped(slots, value, pointer, &[]);
        self.out.push('[');
        for member in slots {
            self.comma();
            match value.get(&member.name) {
                Some(null) if null.is_null() => self.null(&format!("{pointer}/{}", member.name)),
                Some(present) => self.out.push_str(present.raw()),
                None if member.is_required => {
                    self.misshapen(&format!("{pointer}/{}", member.name), "a value", "nothing");
                }
                None => self.out.push_str("null"),
            }
        }
        self.out.push(']');
    }

    fn unmapped(&mut self, slots: &[Slot], value: Value<'_>, pointer: &str, besides: &[&str]) {
        for (key, _) in value.members() {
            let name = key.text();
            let has_slot = slots.iter().any(|member| *member.name == *name);
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
