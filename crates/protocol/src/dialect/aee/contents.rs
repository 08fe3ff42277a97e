//! What stands inside `requires` and `payload`: known keys, references, decision evidence, error
//! payloads, and the published shapes of known intents (AEE 1.7, AEE 4, AEE 5, AEE 7.1).
//!
//! The envelope schema leaves both objects open, so nothing here refuses in lenient mode.

use super::findings::{Findings, Weight};
use super::intents::Type;
use super::members::{Holds, Report, Shape, check, may, must, shown};
use super::registry;
use crate::Code;
use crate::json::{Kind, Value};

static REQUIRES: Shape = Shape {
    members: &[
        may("timeout_ms", Holds::Amount),
        may("human_approval", Holds::Bool),
        may("evidence", Holds::Bool),
        may("format", Holds::Text),
        may("min_confidence", Holds::Share),
        may(
            "decision_evidence",
            Holds::Word(&["none", "minimal", "standard", "full"]),
        ),
    ],
    is_closed: false,
};

static REFERENCE: Shape = Shape {
    members: &[
        must("id", Holds::Text),
        must("type", Holds::Word(&["aee.envelope"])),
        may("corr", Holds::Text),
        may("locator", Holds::Text),
        may("hash", Holds::Text),
    ],
    is_closed: false,
};

static REFERENCES: Shape = Shape {
    members: &[may("references", Holds::Objects(&REFERENCE))],
    is_closed: false,
};

static EVIDENCE: Shape = Shape {
    members: &[
        may("inputs_used", Holds::Texts),
        may("context_refs", Holds::Texts),
        may("tools_used", Holds::Texts),
        may("decision", Holds::Text),
        may("reason_summary", Holds::Text),
        may("action_taken", Holds::Text),
        may("confidence", Holds::Share),
    ],
    is_closed: true,
};

/// Checks the known keys of a `requires` object. Unknown keys may be ignored and are.
pub(super) fn check_requires(requires: Value<'_>, out: &mut Findings) {
    let report = Report {
        weight: Weight::Notice,
        code: Code::RequiresForm,
        rule: "AEE 1.7",
    };
    check(requires, &REQUIRES, "/requires", report, out);
}

/// `timeout_ms` as whole milliseconds, when it is a usable number.
pub(super) fn timeout_ms(requires: Value<'_>) -> Option<i64> {
    let number = requires.get("timeout_ms")?.as_f64()?;
    // The cast saturates, so a huge timeout means the far future.
    (number >= 0.0).then_some(number as i64)
}

/// Checks a `payload` object for its type and intent.
pub(super) fn check_payload(
    payload: Value<'_>,
    kind: Option<Type>,
    intent: Option<&str>,
    requires: Option<Value<'_>>,
    out: &mut Findings,
) {
    let shape = kind
        .zip(intent)
        .and_then(|(kind, intent)| registry::payload(intent, kind));
    match (shape, kind) {
        (Some(shape), _) => {
            let report = Report {
                weight: Weight::Grammar,
                code: Code::PayloadForm,
                rule: "AEE 4",
            };
            check(payload, shape, "/payload", report, out);
        }
        (None, Some(Type::Error)) => {
            let report = Report {
                weight: Weight::Notice,
                code: Code::ErrorPayloadForm,
                rule: "AEE 7.1",
            };
            check(payload, &registry::ERROR, "/payload", report, out);
        }
        (None, _) => {}
    }
    let report = Report {
        weight: Weight::Notice,
        code: Code::ReferenceForm,
        rule: "AEE 5.1",
    };
    check(payload, &REFERENCES, "/payload", report, out);
    check_evidence(payload.get("decision_evidence"), kind, requires, out);
}

/// The evidence's own shape, and what the asked level expects. The level is known here only from the
/// `requires` that replies echo, so a gap is a notice.
fn check_evidence(
    evidence: Option<Value<'_>>,
    kind: Option<Type>,
    requires: Option<Value<'_>>,
    out: &mut Findings,
) {
    const AT: &str = "/payload/decision_evidence";
    const GAP: Code = Code::DecisionEvidenceIncomplete;
    let level = match kind {
        Some(Type::Result) => requires
            .and_then(|requires| requires.get("decision_evidence"))
            .and_then(Value::as_str)
            .unwrap_or_default(),
        _ => "".into(),
    };
    let expected = members_of(&level);
    match evidence {
        Some(object) if object.kind() == Kind::Object => {
            let report = Report {
                weight: Weight::Notice,
                code: Code::PayloadForm,
                rule: "AEE 5.2",
            };
            check(object, &EVIDENCE, AT, report, out);
            for name in expected.iter().filter(|name| object.get(name).is_none()) {
                let detail = format!("expected `{name}` for level {level}, got nothing");
                out.push(
                    Weight::Notice,
                    GAP,
                    format!("{AT}/{name}"),
                    "AEE 5.2",
                    detail,
                );
            }
        }
        Some(other) => {
            let detail = format!("expected an object, got {}", shown(other));
            out.push(Weight::Notice, GAP, AT, "AEE 5.2", detail);
        }
        None if !expected.is_empty() => {
            let detail = format!("expected an object for level {level}, got nothing");
            out.push(Weight::Notice, GAP, AT, "AEE 5.2", detail);
        }
        None => {}
    }
}

fn members_of(level: &str) -> &'static [&'static str] {
    match level {
        "minimal" => &["decision", "reason_summary"],
        "standard" => &[
            "inputs_used",
            "tools_used",
            "decision",
            "reason_summary",
            "action_taken",
            "confidence",
        ],
        "full" => &[
            "inputs_used",
            "tools_used",
            "decision",
            "reason_summary",
            "action_taken",
            "confidence",
            "context_refs",
        ],
        _ => &[],
    }
}
