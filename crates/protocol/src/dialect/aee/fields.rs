//! The fourteen members of an envelope, sets of them, and where they stand in one document (AEE 1.1,
//! AEE 2.1).
//!
//! It says nothing about values; `rules` does.

use crate::json::Value;

/// One of the fourteen, in the order every AEE document lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    V,
    Id,
    Ts,
    Type,
    From,
    To,
    Intent,
    Corr,
    ReplyTo,
    Trace,
    Priority,
    Requires,
    Payload,
    Sig,
}

impl Field {
    /// All, in the published order.
    pub(super) const ALL: [Self; 14] = [
        Self::V,
        Self::Id,
        Self::Ts,
        Self::Type,
        Self::From,
        Self::To,
        Self::Intent,
        Self::Corr,
        Self::ReplyTo,
        Self::Trace,
        Self::Priority,
        Self::Requires,
        Self::Payload,
        Self::Sig,
    ];

    /// The member's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V => "v",
            Self::Id => "id",
            Self::Ts => "ts",
            Self::Type => "type",
            Self::From => "from",
            Self::To => "to",
            Self::Intent => "intent",
            Self::Corr => "corr",
            Self::ReplyTo => "reply_to",
            Self::Trace => "trace",
            Self::Priority => "priority",
            Self::Requires => "requires",
            Self::Payload => "payload",
            Self::Sig => "sig",
        }
    }

    /// The JSON pointer of the member.
    pub(super) fn pointer(self) -> String {
        format!("/{}", self.name())
    }

    /// The member of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "v" => Self::V,
            "id" => Self::Id,
            "ts" => Self::Ts,
            "type" => Self::Type,
            "from" => Self::From,
            "to" => Self::To,
            "intent" => Self::Intent,
            "corr" => Self::Corr,
            "reply_to" => Self::ReplyTo,
            "trace" => Self::Trace,
            "priority" => Self::Priority,
            "requires" => Self::Requires,
            "payload" => Self::Payload,
            "sig" => Self::Sig,
            _ => return None,
        })
    }
}

/// A set of members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(u16);

impl Fields {
    /// In both ten-field sets.
    pub(super) const COMMON8: Self = Self::all_of(&[
        Field::V,
        Field::Id,
        Field::Ts,
        Field::Type,
        Field::From,
        Field::To,
        Field::Intent,
        Field::Corr,
    ]);
    /// The published schema's required ten.
    pub(super) const REPO10: Self =
        Self::COMMON8.and(Self::all_of(&[Field::Priority, Field::Payload]));
    /// The article's ten.
    pub(super) const SEED10: Self =
        Self::COMMON8.and(Self::all_of(&[Field::ReplyTo, Field::Trace]));
    /// The twelve of both.
    pub(super) const BOTH12: Self = Self::REPO10.and(Self::SEED10);
    /// In both five-field sets.
    pub(super) const COMMON4: Self = Self::all_of(&[Field::V, Field::Id, Field::Type, Field::From]);
    /// The published five.
    pub(super) const REPO5: Self = Self::COMMON4.and(Self::all_of(&[Field::Intent]));
    /// The article's five.
    pub(super) const SEED5: Self = Self::COMMON4.and(Self::all_of(&[Field::Ts]));
    /// Every one.
    pub(super) const ALL14: Self = Self::all_of(&Field::ALL);

    const fn all_of(mut fields: &[Field]) -> Self {
        let mut bits = 0;
        while let [first, rest @ ..] = fields {
            bits |= 1 << *first as u16;
            fields = rest;
        }
        Self(bits)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds one.
    pub(super) fn insert(&mut self, field: Field) {
        self.0 |= 1 << field as u16;
    }

    /// Whether `field` is in the set.
    pub(super) fn has(self, field: Field) -> bool {
        self.0 & (1 << field as u16) != 0
    }

    /// Whether every member of `other` is in this set.
    pub(super) fn holds(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// What of `self` is not in `other`.
    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The names, for a sentence: `to, corr`; `nothing` when empty.
    pub(super) fn names(self) -> String {
        let names: Vec<_> = Field::ALL
            .into_iter()
            .filter(|field| self.has(*field))
            .map(Field::name)
            .collect();
        if names.is_empty() {
            "nothing".into()
        } else {
            names.join(", ")
        }
    }
}

/// The known members of one document: found in one pass, kept in document order.
pub(super) struct Found<'d> {
    slots: [Option<Value<'d>>; 14],
    order: [Option<Field>; 14],
    /// Which are there, also when they are null.
    pub(super) present: Fields,
}

impl<'d> Found<'d> {
    /// Looks at every member of `doc` once. The reader lets no name stand twice.
    pub(super) fn in_object(doc: Value<'d>) -> Self {
        let mut found = Self {
            slots: [None; 14],
            order: [None; 14],
            present: Fields::default(),
        };
        let known = doc
            .members()
            .filter_map(|(key, value)| Some((Field::named(&key.text())?, value)));
        for ((field, value), place) in known.zip(&mut found.order) {
            if let Some(slot) = found.slots.get_mut(field as usize) {
                *slot = Some(value);
            }
            *place = Some(field);
            found.present.insert(field);
        }
        found
    }

    /// The value of one member, null included.
    pub(super) fn get(&self, field: Field) -> Option<Value<'d>> {
        self.slots.get(field as usize).copied().flatten()
    }

    /// The known members as the document orders them.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Field, Value<'d>)> + '_ {
        self.order
            .iter()
            .flatten()
            .filter_map(|field| Some((*field, self.get(*field)?)))
    }
}
