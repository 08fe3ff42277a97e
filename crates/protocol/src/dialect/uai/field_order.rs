//! The order tables of the keyless form, as data that can be replaced.
//!
//! Ours follow from the tables that validate (`table`, `body`), so that a member has one place. The
//! shape of the published field registry is read and written, so that another registry's order can
//! be loaded without a change of code (UAI 2 F9, gap G5). A table says where members stand; what they
//! must hold is still said by the validator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use super::body::PROFILES;
use super::table::{AGENT, ENVELOPE, EXTENSION, PARTS, TABLE_VERSION};
use crate::json::{self, Kind, Value, push_string};
use crate::shape::Shape;
use crate::{Code, Fault};

/// Most slots of one table: far above any published one.
const SLOTS_MAX: usize = 256;
/// Most tables of one registry.
const TABLES_MAX: usize = 1_024;
/// Most bytes of a registry.
const REGISTRY_BYTES_MAX: usize = 4 << 20;

/// One slot of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The member that stands there.
    pub name: Box<str>,
    /// Whether null is refused.
    pub is_required: bool,
}

/// Every table of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOrder {
    version: Box<str>,
    tables: BTreeMap<Box<str>, Vec<Slot>>,
}

static OURS: LazyLock<FieldOrder> = LazyLock::new(FieldOrder::from_tables);

impl FieldOrder {
    /// The tables of this build, version `ours-1`.
    #[must_use]
    pub fn ours() -> &'static Self {
        &OURS
    }

    fn from_tables() -> Self {
        let slots = |shape: &Shape| {
            let slot = |member: &crate::shape::Member| Slot {
                name: member.name.into(),
                is_required: member.missing.is_some(),
            };
            shape.members.iter().map(slot).collect::<Vec<_>>()
        };
        let mut tables = BTreeMap::new();
        tables.insert("envelope".into(), slots(&ENVELOPE));
        tables.insert("agent".into(), slots(&AGENT));
        tables.insert("extension_record".into(), slots(&EXTENSION));
        for (name, shape, _) in &PARTS {
            if !matches!(*name, "source" | "target") {
                tables.insert((*name).into(), slots(shape));
            }
        }
        for profile in &PROFILES {
            tables.insert(profile.id.into(), slots(profile.body));
        }
        Self {
            version: TABLE_VERSION.into(),
            tables,
        }
    }

    /// Reads a registry in the published shape: `version` and `compact_field_order_maps` with
    /// `ordered_fields` and `required_indexes` for each table. A table that it does not have is taken
    /// from ours; the twelve members of the envelope may not change their places.
    ///
    /// # Errors
    /// Those of the reader; `missing_field`, `type_mismatch`, `keyless_shape` with the place in the
    /// registry; `too_large` for more than a registry can need.
    pub fn read(text: &[u8]) -> Result<Self, Fault> {
        let limits = json::Limits {
            bytes_max: REGISTRY_BYTES_MAX,
            depth_max: 32,
        };
        let document = json::read(text, limits)?;
        let root = document.root();
        let version = root
            .get("version")
            .or_else(|| root.get("registry_version"))
            .and_then(Value::as_str)
            .ok_or_else(|| wrong(Code::MissingField, "/version", "a version", "none"))?;
        let maps = root
            .get("compact_field_order_maps")
            .filter(|maps| maps.kind() == Kind::Object)
            .ok_or_else(|| {
                let pointer = "/compact_field_order_maps";
                wrong(Code::MissingField, pointer, "an object of tables", "none")
            })?;
        let mut order = Self::ours().clone();
        order.version = version.into();
        for (count, (name, map)) in maps.members().enumerate() {
            let mut pointer = String::from("/compact_field_order_maps/");
            json::push_escaped(&mut pointer, &name.text());
            if count == TABLES_MAX {
                return Err(wrong(
                    Code::KeylessShape,
                    &pointer,
                    "at most 1024 tables",
                    "more",
                ));
            }
            let slots = read_table(map, &pointer)?;
            if &*name.text() == "envelope" && order.tables.get("envelope") != Some(&slots) {
                return Err(wrong(
                    Code::KeylessShape,
                    &pointer,
                    "the twelve members in their published order",
                    "another table",
                ));
            }
            order.tables.insert(name.text().into(), slots);
        }
        Ok(order)
    }

    /// The version of these tables; a decoder states which one it used.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The slots of a table: `envelope`, `agent`, `extension_record`, a member of the envelope, or a
    /// profile id for its body.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&[Slot]> {
        self.tables.get(name).map(Vec::as_slice)
    }

    /// The profiles whose bodies have a table, in the order of their ids.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        self.tables
            .keys()
            .map(AsRef::as_ref)
            .filter(|name| name.starts_with("uai."))
    }

    /// The registry document of these tables, in the published shape.
    #[must_use]
    pub fn write(&self) -> String {
        let mut out = String::from("{\"version\":");
        push_string(&mut out, &self.version);
        out.push_str(",\"compact_field_order_maps\":{");
        for (count, (name, slots)) in self.tables.iter().enumerate() {
            if count > 0 {
                out.push(',');
            }
            push_string(&mut out, name);
            out.push_str(":{\"profile_identifier\":");
            push_string(&mut out, name);
            out.push_str(",\"version\":\"1.0\",\"ordered_fields\":[");
            for (at, slot) in slots.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_string(&mut out, &slot.name);
            }
            out.push_str("],\"required_indexes\":");
            push_indexes(&mut out, slots, true);
            out.push_str(",\"nullable_indexes\":");
            push_indexes(&mut out, slots, false);
            out.push('}');
        }
        out.push_str("}}");
        out
    }

    /// The slots of one envelope member, when it becomes an array.
    pub(super) fn of_member(&self, name: &str, profile: &str) -> Option<&[Slot]> {
        match name {
            "source" | "target" => self.table("agent"),
            "body" if profile.starts_with("uai.") => self.table(profile),
            "conversation" | "delivery" | "trust" | "provenance" | "integrity" => self.table(name),
            _ => None,
        }
    }
}

fn push_indexes(out: &mut String, slots: &[Slot], is_required: bool) {
    out.push('[');
    for (at, slot) in slots.iter().enumerate() {
        if slot.is_required == is_required {
            if !out.ends_with('[') {
                out.push(',');
            }
            let _ = write!(out, "{at}");
        }
    }
    out.push(']');
}

fn read_table(map: Value<'_>, pointer: &str) -> Result<Vec<Slot>, Fault> {
    let list = |name: &str| {
        map.get(name)
            .filter(|list| list.kind() == Kind::Array)
            .ok_or_else(|| {
                let pointer = format!("{pointer}/{name}");
                wrong(Code::MissingField, &pointer, "an array", "none")
            })
    };
    let mut seen = BTreeSet::new();
    let mut slots = Vec::new();
    for (at, field) in list("ordered_fields")?.items().enumerate() {
        let here = format!("{pointer}/ordered_fields/{at}");
        let name = field
            .as_str()
            .ok_or_else(|| wrong(Code::TypeMismatch, &here, "a name", field.kind().as_str()))?;
        if at == SLOTS_MAX {
            return Err(wrong(
                Code::KeylessShape,
                &here,
                "at most 256 slots",
                "more",
            ));
        }
        if !seen.insert(name.clone().into_owned()) {
            return Err(wrong(
                Code::KeylessShape,
                &here,
                "every name once",
                "one again",
            ));
        }
        slots.push(Slot {
            name: name.into(),
            is_required: false,
        });
    }
    for (at, index) in list("required_indexes")?.items().enumerate() {
        let slot = index
            .as_i64()
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| slots.get_mut(index));
        match slot {
            Some(slot) => slot.is_required = true,
            None => {
                let here = format!("{pointer}/required_indexes/{at}");
                return Err(wrong(
                    Code::KeylessShape,
                    &here,
                    "the index of a slot",
                    "another value",
                ));
            }
        }
    }
    Ok(slots)
}

fn wrong(code: Code, pointer: &str, expected: &str, got: &str) -> Fault {
    Fault::new(
        code,
        pointer,
        "UAI 2 F9",
        format!("expected {expected}, got {got}"),
    )
}
