//! A dialect turns bytes into an envelope's facts. Nothing else knows AEE, AEP or UAI-1.
//!
//! Adding one: a module below, a line in [`DIALECTS`], a variant of [`DialectName`].

pub mod aee;
pub mod aep;
pub mod uai;

use crate::fault::Class;
use crate::json::{self, Value};
use crate::replay;
use crate::{Code, DialectName, Fault, Header, Rejection, Rules, translate};

/// One wire format.
pub trait Dialect: Sync {
    /// Its name.
    fn name(&self) -> DialectName;

    /// Whether this JSON value is meant as an envelope of this dialect, by content, valid or not.
    /// At most one dialect recognises a value.
    fn recognizes(&self, doc: Value<'_>) -> bool;

    /// Validates everything and extracts the header. `text` is exactly the JSON text of `doc`.
    /// Never fails: all faults and warnings are in the reading, in document order.
    fn read(&self, doc: Value<'_>, rules: &Rules) -> Reading;

    /// The word this dialect's own peers expect for a class of fault.
    fn fault_word(&self, class: Class) -> &'static str;
}

/// Every dialect, in the order of detection.
pub static DIALECTS: [&dyn Dialect; 3] = [&aee::Aee, &aep::Aep, &uai::Uai];

/// Which of the published AEE field sets an envelope fills (AEE 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiers {
    /// The published schema's ten fields, and valid under that schema.
    pub repo10: bool,
    /// The article's ten fields.
    pub seed10: bool,
    /// The published MVE-5: `v id type from intent`.
    pub repo5: bool,
    /// The article's MVE-5: `v id ts type from`.
    pub seed5: bool,
    /// All fourteen.
    pub full14: bool,
}

/// What reading one envelope found.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The recognised dialect.
    pub dialect: Option<DialectName>,
    /// The message id as written, also when the envelope is invalid.
    pub id: Option<String>,
    /// AEE `intent`, AEP `type`, UAI-1 `profile`, also when invalid.
    pub label: Option<String>,
    /// AEE tiers.
    pub tiers: Option<Tiers>,
    /// Present exactly when there are no faults.
    pub header: Option<Header>,
    /// Why the envelope is refused.
    pub faults: Vec<Fault>,
    /// What the sender should know although it is accepted.
    pub warnings: Vec<Fault>,
}

impl Reading {
    /// True when nothing is refused.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty() && self.header.is_some()
    }

    /// The header and warnings, or the refusal.
    ///
    /// # Errors
    /// All faults, when there are any.
    pub fn into_result(self) -> Result<(Header, Vec<Fault>), Rejection> {
        match (Rejection::from_faults(self.faults), self.header) {
            (None, Some(header)) => Ok((header, self.warnings)),
            (Some(rejection), _) => Err(rejection),
            (None, None) => Err(Fault::new(
                Code::InternalError,
                "",
                "",
                "the reader gave neither a header nor a fault",
            )
            .into()),
        }
    }

    fn refused(fault: Fault) -> Self {
        Self {
            faults: vec![fault],
            ..Self::default()
        }
    }
}

/// Reads one envelope from its bytes: JSON, then dialect by content, then every rule.
#[must_use]
pub fn decode(bytes: &[u8], rules: &Rules) -> Reading {
    let limits = json::Limits {
        bytes_max: rules.envelope_bytes_max,
        depth_max: rules.depth_max,
    };
    match json::read(bytes, limits) {
        Ok(document) => decode_value(document.root(), rules),
        Err(fault) => unreadable(bytes, fault),
    }
}

/// Reads one envelope that is already part of a checked document, such as a frame's member.
#[must_use]
pub fn decode_value(doc: Value<'_>, rules: &Rules) -> Reading {
    match DIALECTS.iter().find(|dialect| dialect.recognizes(doc)) {
        Some(dialect) => read_with(*dialect, doc, rules),
        None => Reading::refused(stranger(doc)),
    }
}

/// Reads one envelope as the dialect the caller names, whatever it looks like.
#[must_use]
pub fn decode_as(bytes: &[u8], name: DialectName, rules: &Rules) -> Reading {
    let limits = json::Limits {
        bytes_max: rules.envelope_bytes_max,
        depth_max: rules.depth_max,
    };
    match json::read(bytes, limits) {
        Ok(document) => read_with(of(name), document.root(), rules),
        Err(fault) => Reading::refused(fault),
    }
}

/// What holds for every dialect. A replay is one in each, and what it says of tasks, budgets and
/// deliveries was said when it was said first.
fn read_with(dialect: &dyn Dialect, doc: Value<'_>, rules: &Rules) -> Reading {
    let mut reading = dialect.read(doc, rules);
    reading.dialect = Some(dialect.name());
    if let Some(header) = &mut reading.header {
        translate::resolve(header);
        // What acknowledges a message is caused by it, also when it does not say so twice.
        if header.cause.is_none() {
            header.cause = header.settles.as_ref().map(|settled| settled.id.clone());
        }
        header.replay_of = replay::mark_of(doc, dialect.name());
        if header.replay_of.is_some() {
            header.step = None;
            header.flow = None;
            header.coordination = None;
            header.settles = None;
        }
    }
    reading
}

/// The dialect of that name.
#[must_use]
pub fn of(name: DialectName) -> &'static dyn Dialect {
    match name {
        DialectName::Aee => &aee::Aee,
        DialectName::Aep => &aep::Aep,
        DialectName::Uai => &uai::Uai,
    }
}

/// Says what a JSON value is that no dialect recognises: other formats share the names AEP and UAI-1.
fn stranger(doc: Value<'_>) -> Fault {
    uai::look_alike(doc)
        .or_else(|| aep::look_alike(doc))
        .unwrap_or_else(|| {
            Fault::new(
                Code::NotAnEnvelope,
                "",
                "ARCHITECTURE 1",
                "expected an object with `v` (AEE), `spec_version` (AEP) or `uai_version` (UAI-1)",
            )
        })
}

/// Bytes that are not JSON may still be a file that people take for an envelope.
fn unreadable(bytes: &[u8], fault: Fault) -> Reading {
    Reading::refused(uai::look_alike_bytes(bytes).unwrap_or(fault))
}
