//! Collects what is wrong with an envelope and puts it in document order.
//!
//! Knows tables, not meanings: rules that look at two members are in `policy`, `routing` and
//! `extension`. Implements the strict and lenient modes of UAI 9.1 M6 and the formats of UAI 1.1
//! that hold for every member.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::grammar;
use crate::fault::note;
use crate::json::{Kind, Value, push_escaped};
use crate::shape::{self, Shape};
use crate::{Code, Fault, Mode, canonical};

/// Where an enumeration is only a proposal (UAI 1.4, 3.2): strict mode refuses other words, lenient
/// mode carries them. Everywhere else a word decides what the message does, or cannot be verified.
const OPEN_WORDS: [&str; 5] = [
    "/delivery/priority",
    "/delivery/status",
    "/body/blocker_type",
    "/body/source_type",
    "/body/proposed_status",
];

/// Faults and warnings of one envelope.
pub(super) struct Findings<'d> {
    doc: Value<'d>,
    mode: Mode,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl<'d> Findings<'d> {
    /// Nothing found yet in `doc`.
    pub fn new(doc: Value<'d>, mode: Mode) -> Self {
        Self {
            doc,
            mode,
            faults: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether only what is published is accepted.
    pub fn is_strict(&self) -> bool {
        self.mode == Mode::Strict
    }

    /// Refuses.
    pub fn refuse(
        &mut self,
        code: Code,
        pointer: impl Into<String>,
        rule: &'static str,
        detail: impl Into<String>,
    ) {
        note(&mut self.faults, Fault::new(code, pointer, rule, detail));
    }

    /// Notes, without refusing.
    pub fn warn(
        &mut self,
        code: Code,
        pointer: impl Into<String>,
        rule: &'static str,
        detail: impl Into<String>,
    ) {
        note(&mut self.warnings, Fault::new(code, pointer, rule, detail));
    }

    /// Refuses in strict mode; in lenient mode notes the same under an advice code.
    pub fn doubt(&mut self, fault: Fault, advice: Code) {
        if self.is_strict() {
            note(&mut self.faults, fault);
        } else {
            note(
                &mut self.warnings,
                Fault {
                    code: advice,
                    ..fault
                },
            );
        }
    }

    /// Whether something was refused for this reason.
    pub fn has(&self, code: Code) -> bool {
        self.faults.iter().any(|fault| fault.code == code)
    }

    /// Whether anything was refused at or below this member of the envelope.
    pub fn has_below(&self, pointer: &str) -> bool {
        self.faults.iter().any(|fault| {
            fault
                .pointer
                .strip_prefix(pointer)
                .is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..]))
        })
    }

    /// Faults and warnings, each in document order.
    pub fn into_parts(mut self) -> (Vec<Fault>, Vec<Fault>) {
        in_document_order(self.doc, &mut self.faults);
        in_document_order(self.doc, &mut self.warnings);
        (self.faults, self.warnings)
    }

    /// Checks the top level. "Exactly these twelve" is published, so another member is a fault in
    /// every mode; `additional_targets` is the one addition of the lenient mode, see `routing`.
    pub fn envelope(&mut self, shape: &Shape) {
        let mut faults = Vec::new();
        shape::check(shape, self.doc, &mut String::new(), "UAI 1.1", &mut faults);
        if !self.is_strict() {
            faults.retain(|fault| {
                fault.code != Code::UndeclaredField || fault.pointer != "/additional_targets"
            });
        }
        self.faults.append(&mut faults);
    }

    /// Checks an object below the top level. Those tables are proposals, so lenient mode keeps
    /// members they do not list.
    pub fn record(&mut self, shape: &Shape, value: Value<'_>, pointer: &str, rule: &'static str) {
        let mut pointer = pointer.to_owned();
        if self.is_strict() {
            shape::check(shape, value, &mut pointer, rule, &mut self.faults);
            return;
        }
        let mut faults = Vec::new();
        shape::check_lenient(
            shape,
            value,
            &mut pointer,
            rule,
            &mut faults,
            &mut self.warnings,
        );
        for fault in faults {
            if fault.code == Code::EnumUnknown && OPEN_WORDS.contains(&&*fault.pointer) {
                note(
                    &mut self.warnings,
                    Fault {
                        code: Code::UnknownWord,
                        ..fault
                    },
                );
            } else {
                note(&mut self.faults, fault);
            }
        }
    }

    /// What holds for every member, tabled or not: times are UTC, numbers survive canonicalisation.
    ///
    /// A member whose name ends in `_at` or `_due` and holds a string is a time, also inside opaque
    /// parts: UAI-1 writes all times in UTC, and whoever reads the part expects a UAI-1 time.
    pub fn sweep(&mut self) {
        let doc = self.doc;
        self.sweep_below(doc, &mut String::new());
    }

    fn sweep_below(&mut self, value: Value<'_>, pointer: &mut String) {
        let length = pointer.len();
        match value.kind() {
            Kind::Object => {
                for (key, member) in value.members() {
                    let name = key.text();
                    pointer.push('/');
                    push_escaped(pointer, &name);
                    if name.ends_with("_at") || name.ends_with("_due") {
                        self.time(member, pointer);
                    }
                    self.sweep_below(member, pointer);
                    pointer.truncate(length);
                }
            }
            Kind::Array => {
                for (index, item) in value.items().enumerate() {
                    let _ = write!(pointer, "/{index}");
                    self.sweep_below(item, pointer);
                    pointer.truncate(length);
                }
            }
            Kind::Number => {
                if let Err(fault) = canonical::canonicalize(value, &[]) {
                    note(
                        &mut self.faults,
                        Fault {
                            pointer: pointer.clone(),
                            ..fault
                        },
                    );
                }
            }
            Kind::Null | Kind::Bool | Kind::String => {}
        }
    }

    fn time(&mut self, member: Value<'_>, pointer: &str) {
        if member
            .as_str()
            .is_some_and(|text| grammar::utc_time(&text).is_none())
        {
            let detail = format!(
                "expected an RFC 3339 time in UTC with a literal `Z`, got {}",
                got(member)
            );
            self.refuse(Code::TimestampNotUtc, pointer, "UAI 1.1", detail);
        }
    }
}

/// Sorts by where the pointers stand in the text. What is missing stands at the end of the object it
/// should be in.
///
/// One walk finds all places: resolving each pointer from the root would take a hostile envelope
/// with a fault in every item of a long list to the square of its length.
fn in_document_order(doc: Value<'_>, faults: &mut [Fault]) {
    if faults.len() < 2 {
        return;
    }
    let mut places: HashMap<Box<str>, Option<Range<usize>>> = HashMap::new();
    for fault in faults.iter() {
        places.insert(fault.pointer.as_str().into(), None);
        places.insert(parent(&fault.pointer).into(), None);
    }
    locate(doc, &mut String::new(), &mut places);
    let place = |pointer: &str| places.get(pointer).cloned().flatten();
    faults.sort_by_cached_key(|fault| match place(&fault.pointer) {
        Some(range) => range.start,
        None => place(parent(&fault.pointer)).unwrap_or(doc.range()).end,
    });
}

fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn locate(
    value: Value<'_>,
    pointer: &mut String,
    places: &mut HashMap<Box<str>, Option<Range<usize>>>,
) {
    if let Some(place) = places.get_mut(pointer.as_str()) {
        *place = Some(value.range());
    }
    let length = pointer.len();
    for (key, member) in value.members() {
        pointer.push('/');
        push_escaped(pointer, &key.text());
        locate(member, pointer, places);
        pointer.truncate(length);
    }
    for (index, item) in value.items().enumerate() {
        let _ = write!(pointer, "/{index}");
        locate(item, pointer, places);
        pointer.truncate(length);
    }
}

/// A value as an error sentence shows it: short texts and numbers as they are, the rest by type.
pub(super) fn got(value: Value<'_>) -> String {
    const SHOWN_MAX: usize = 80;
    match value.kind() {
        Kind::String | Kind::Number | Kind::Bool if value.raw().len() <= SHOWN_MAX => {
            value.raw().into()
        }
        Kind::String => format!("a string of {} bytes", value.raw().len().saturating_sub(2)),
        kind @ (Kind::Null | Kind::Bool | Kind::Number | Kind::Array | Kind::Object) => {
            kind.as_str().into()
        }
    }
}
