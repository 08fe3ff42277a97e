//! The report of a verification (AEE 9.4).

use super::event::Object;

macro_rules! reasons {
    ($($variant:ident = $word:literal,)*) => {
        /// Why a bundle does not verify, in VOLT's words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the variants are VOLT's own words")]
        pub enum Reason { $($variant,)* }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word in the report.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

reasons! {
    ManifestMissing = "MANIFEST_MISSING",
    ManifestUnreadable = "MANIFEST_UNREADABLE",
    ManifestSchemaInvalid = "MANIFEST_SCHEMA_INVALID",
    EventsFileMissing = "EVENTS_FILE_MISSING",
    InvalidEventJson = "INVALID_EVENT_JSON",
    SeqGap = "SEQ_GAP",
    SeqDuplicate = "SEQ_DUPLICATE",
    SeqNotMonotonic = "SEQ_NOT_MONOTONIC",
    EventSchemaInvalid = "EVENT_SCHEMA_INVALID",
    VersionMismatch = "VERSION_MISMATCH",
    EventHashMismatch = "EVENT_HASH_MISMATCH",
    InvalidGenesisPrevHash = "INVALID_GENESIS_PREV_HASH",
    ChainBroken = "CHAIN_BROKEN",
    RunIdMismatch = "RUN_ID_MISMATCH",
    ManifestMismatch = "MANIFEST_MISMATCH",
    AttachmentMissing = "ATTACHMENT_MISSING",
    AttachmentHashMismatch = "ATTACHMENT_HASH_MISMATCH",
    SignatureSchemaInvalid = "SIGNATURE_SCHEMA_INVALID",
    SignatureInvalid = "SIGNATURE_INVALID",
    UnsupportedSignatureType = "UNSUPPORTED_SIGNATURE_TYPE",
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything holds.
    Pass,
    /// Something was edited, or never held.
    Fail,
    /// There is nothing that could be verified.
    Error,
}

impl Outcome {
    /// The word in the report.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Error => "ERROR",
        }
    }

    /// The exit status of a verifier.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Error => 2,
        }
    }
}

/// What a verification found. After a pass the facts of the bundle; else the first thing that is
/// wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Why not, unless it passed.
    pub reason: Option<Reason>,
    /// Details by name, values in JSON: of a failure where and what; of a pass the facts.
    pub details: Vec<(&'static str, String)>,
    /// What a reader should know although it passed.
    pub warnings: Vec<String>,
}

impl Report {
    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = Object::new();
        object.text("result", self.outcome.as_str());
        let mut details = Object::new();
        for (name, json) in &self.details {
            match self.outcome {
                Outcome::Pass => object.raw(name, json),
                Outcome::Fail | Outcome::Error => details.raw(name, json),
            }
        }
        match self.reason {
            Some(reason) => {
                object.text("reason", reason.as_str());
                object.raw("details", &details.close());
            }
            None => {
                let mut list = String::from("[");
                for (at, warning) in self.warnings.iter().enumerate() {
                    if at > 0 {
                        list.push(',');
                    }
                    protocol::json::push_string(&mut list, warning);
                }
                list.push(']');
                object.raw("warnings", &list);
            }
        }
        object.close()
    }

    /// The detail of that name, as JSON.
    #[must_use]
    pub fn detail(&self, name: &str) -> Option<&str> {
        let mut details = self.details.iter();
        details
            .find(|(found, _)| *found == name)
            .map(|(_, json)| &**json)
    }
}
