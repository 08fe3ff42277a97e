//! Which field sets an envelope fills, and whether that is enough (AEE 2).
//!
//! Tiers are facts, found by set inclusion. The admission policy turns them and the findings into
//! faults, warnings and an intake.

use super::fields::{Field, Fields, Found};
use super::findings::{Findings, Weight};
use super::rules::View;
use crate::dialect::Tiers;
use crate::{AeePolicy, Code, Fault, Intake, Mode, Rules};

/// Judged by whose demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// The published schema.
    Repo,
    /// The article's ten fields.
    Seed,
    /// Both at once.
    Both,
    /// A log record.
    Log,
    /// Short of both tens and of every log record, where any of them would do.
    Neither,
    /// Short of every log record, where one is asked for.
    NoRecord,
}

/// What the policy made of an envelope.
pub(super) struct Admission {
    pub(super) intake: Intake,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
}

/// The tiers. `repo10` means valid under the published schema; the others are about presence, the
/// type word and the cause of a reply, as the published examples are recorded (AEE 14).
pub(super) fn classify(found: &Found<'_>, view: &View<'_>, findings: &Findings) -> Tiers {
    let present = found.present;
    let is_sound = ![Weight::Always, Weight::Length, Weight::Reply]
        .into_iter()
        .any(|w| findings.any(w));
    let has_type = view.kind.is_some();
    let is_caused = !view.is_reply()
        || found
            .get(Field::ReplyTo)
            .is_some_and(|value| !value.is_null());
    Tiers {
        repo10: present.holds(Fields::REPO10) && is_sound && is_caused,
        seed10: present.holds(Fields::SEED10) && has_type && is_caused,
        repo5: present.holds(Fields::REPO5) && has_type,
        seed5: present.holds(Fields::SEED5) && has_type,
        full14: present.holds(Fields::ALL14),
    }
}

/// Applies the policy: what was found first, in document order, then what is absent, in the
/// published order.
pub(super) fn admit(
    present: Fields,
    view: &View<'_>,
    findings: Findings,
    rules: &Rules,
) -> Admission {
    let profile = Profile::chosen(present, rules.aee_policy);
    let is_strict = rules.mode == Mode::Strict;
    let (mut faults, mut warnings) = findings.split(|weight| match weight {
        Weight::Always => true,
        Weight::Length => is_strict || profile.minds_lengths(),
        Weight::Reply => profile != Profile::Log,
        Weight::Grammar => is_strict,
        Weight::Notice => false,
    });
    add_absent_reply_to(present, view, profile, &mut warnings);
    add_absent(present, view, profile, &mut faults);
    if matches!(profile, Profile::Neither | Profile::NoRecord) {
        faults.push(Fault::new(
            Code::TierNotMet,
            "",
            "AEE 2.3",
            gaps(present, rules.aee_policy),
        ));
    }
    if profile != Profile::Log || !faults.is_empty() {
        return Admission {
            intake: Intake::Work,
            faults,
            warnings,
        };
    }
    let detail = match rules.aee_policy {
        AeePolicy::Log => {
            "expected log records by policy, so this is kept and not delivered".into()
        }
        AeePolicy::Repo | AeePolicy::Seed | AeePolicy::Both | AeePolicy::Either => {
            gaps(present, rules.aee_policy)
        }
    };
    warnings.push(Fault::new(Code::LogTier, "", "AEE 2.3", detail));
    Admission {
        intake: Intake::Log,
        faults,
        warnings,
    }
}

impl Profile {
    /// Under `either` an envelope is judged by the ten it fills, the article's first because it asks
    /// less of lengths. A full ten is meant as work, so it is never filed away as a log record for
    /// another fault.
    fn chosen(present: Fields, policy: AeePolicy) -> Self {
        let is_record = present.holds(Fields::REPO5) || present.holds(Fields::SEED5);
        match policy {
            AeePolicy::Repo => Self::Repo,
            AeePolicy::Seed => Self::Seed,
            AeePolicy::Both => Self::Both,
            AeePolicy::Either if present.holds(Fields::SEED10) => Self::Seed,
            AeePolicy::Either if present.holds(Fields::REPO10) => Self::Repo,
            AeePolicy::Either | AeePolicy::Log if is_record => Self::Log,
            AeePolicy::Either => Self::Neither,
            AeePolicy::Log => Self::NoRecord,
        }
    }

    fn minds_lengths(self) -> bool {
        match self {
            Self::Repo | Self::Both => true,
            Self::Seed | Self::Log | Self::Neither | Self::NoRecord => false,
        }
    }

    /// What must be there, and by whose word.
    fn wants(self) -> (Fields, &'static str) {
        match self {
            Self::Repo => (Fields::REPO10, "the ten fields of the published schema"),
            Self::Seed => (Fields::SEED10, "the ten fields of the article"),
            Self::Both => (Fields::BOTH12, "the twelve fields of both profiles"),
            Self::Log => (Fields::default(), ""),
            Self::Neither => (
                Fields::COMMON8,
                "the eight fields that both profiles ask for",
            ),
            Self::NoRecord => (Fields::COMMON4, "the four fields of every log record"),
        }
    }
}

/// One fault per member that would have to be added. A reply's `reply_to` has a code of its own.
fn add_absent(present: Fields, view: &View<'_>, profile: Profile, faults: &mut Vec<Fault>) {
    let (wanted, whose) = profile.wants();
    let needs_cause = view.is_reply() && profile != Profile::Log;
    for field in Field::ALL.into_iter().filter(|field| !present.has(*field)) {
        if field == Field::ReplyTo && needs_cause {
            let detail = "expected the id of the message this answers, got nothing";
            faults.push(Fault::new(
                Code::ReplyToMissing,
                field.pointer(),
                "AEE 1.2",
                detail,
            ));
        } else if wanted.has(field) {
            let detail = format!("expected `{}`, one of {whose}, got nothing", field.name());
            faults.push(Fault::new(
                Code::MissingField,
                field.pointer(),
                "AEE 2.1",
                detail,
            ));
        }
    }
}

fn add_absent_reply_to(
    present: Fields,
    view: &View<'_>,
    profile: Profile,
    warnings: &mut Vec<Fault>,
) {
    if present.has(Field::ReplyTo) {
        return;
    }
    let mut warn = |code, rule, detail: &str| {
        warnings.push(Fault::new(code, Field::ReplyTo.pointer(), rule, detail));
    };
    if view.is_reply() {
        if profile == Profile::Log {
            let detail = "expected the id of the message this answers, got nothing";
            warn(Code::ReplyToMissing, "AEE 1.2", detail);
        }
        warn(
            Code::LogTierOnly,
            "AEE 2.2",
            "expected a delivered reply to name what it answers, got nothing",
        );
    }
    let detail = "expected the key, null where there is no cause, got nothing";
    warn(Code::ReplyToAbsent, "AEE 1.4", detail);
}

/// What each set lacks, in one sentence.
fn gaps(present: Fields, policy: AeePolicy) -> String {
    let lacks = |wanted: Fields| wanted.without(present).names();
    let five = format!(
        "a five-field log record (absent {}; or {})",
        lacks(Fields::REPO5),
        lacks(Fields::SEED5)
    );
    match policy {
        AeePolicy::Log => format!("expected {five}"),
        AeePolicy::Repo | AeePolicy::Seed | AeePolicy::Both | AeePolicy::Either => format!(
            "expected the published ten fields (absent {}) or the article's ten (absent {}); \
             without them only {five} is taken",
            lacks(Fields::REPO10),
            lacks(Fields::SEED10)
        ),
    }
}
