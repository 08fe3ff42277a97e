//! The verdict on one envelope as JSON: what `validate` prints and `POST /v1/validate` answers.
//!
//! One writer, so that the command line and the HTTP door cannot come to differ.

use crate::json::push_string;
use crate::{DialectName, Fault, Reading, Tiers};
use std::fmt::Write as _;

/// Appends the verdict of `reading` as one JSON object without line breaks:
/// `{"dialect","valid","id","intent"|"type"|"profile","tiers" (AEE only),"faults","warnings"}`.
///
/// Faults and warnings are in document order. `dialect` and `id` are null where the bytes do not
/// tell; the label member is named after the dialect's own field and left out without a dialect.
pub fn write_verdict(out: &mut String, reading: &Reading) {
    out.push_str("{\"dialect\":");
    push_optional(out, reading.dialect.map(DialectName::as_str));
    let _ = write!(out, ",\"valid\":{},\"id\":", reading.is_valid());
    push_optional(out, reading.id.as_deref());
    if let Some(dialect) = reading.dialect {
        let _ = write!(out, ",\"{}\":", label_name(dialect));
        push_optional(out, reading.label.as_deref());
    }
    if let Some(tiers) = reading.tiers {
        let Tiers {
            repo10,
            seed10,
            repo5,
            seed5,
            full14,
        } = tiers;
        let _ = write!(
            out,
            ",\"tiers\":{{\"repo10\":{repo10},\"seed10\":{seed10},\"repo5\":{repo5},\"seed5\":{seed5},\"full14\":{full14}}}"
        );
    }
    out.push_str(",\"faults\":");
    push_faults(out, &reading.faults);
    out.push_str(",\"warnings\":");
    push_faults(out, &reading.warnings);
    out.push('}');
}

/// Appends one fault: `{"code","pointer","rule","detail"}`.
pub fn write_fault(out: &mut String, fault: &Fault) {
    let _ = write!(out, "{{\"code\":\"{}\",\"pointer\":", fault.code);
    push_string(out, &fault.pointer);
    out.push_str(",\"rule\":");
    push_string(out, fault.rule);
    out.push_str(",\"detail\":");
    push_string(out, &fault.detail);
    out.push('}');
}

/// What the dialect calls [`Reading::label`].
fn label_name(dialect: DialectName) -> &'static str {
    match dialect {
        DialectName::Aee => "intent",
        DialectName::Aep => "type",
        DialectName::Uai => "profile",
    }
}

fn push_optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, text),
        None => out.push_str("null"),
    }
}

fn push_faults(out: &mut String, faults: &[Fault]) {
    out.push('[');
    for (at, fault) in faults.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_fault(out, fault);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::write_verdict;
    use crate::json::{Limits, read};
    use crate::{Code, DialectName, Fault, Reading, Tiers};

    fn verdict(reading: &Reading) -> String {
        let mut out = String::new();
        write_verdict(&mut out, reading);
        out
    }

    #[test]
    fn a_refused_stranger_has_nulls_and_its_fault() {
        let fault = Fault::new(
            Code::NotAnEnvelope,
            "",
            "ARCHITECTURE 1",
            "expected \"v\", got\nnone",
        );
        let reading = Reading {
            faults: vec![fault],
            ..Reading::default()
        };
        assert_eq!(
            verdict(&reading),
            "{\"dialect\":null,\"valid\":false,\"id\":null,\"faults\":[{\"code\":\"not_an_envelope\",\
             \"pointer\":\"\",\"rule\":\"ARCHITECTURE 1\",\"detail\":\"expected \\\"v\\\", got\\nnone\"}],\
             \"warnings\":[]}"
        );
    }

    #[test]
    fn the_label_carries_the_dialects_own_name() {
        let named = [
            (DialectName::Aee, "intent"),
            (DialectName::Aep, "type"),
            (DialectName::Uai, "profile"),
        ];
        for (dialect, name) in named {
            let reading = Reading {
                dialect: Some(dialect),
                id: Some("a\"b".into()),
                label: Some("x.y".into()),
                ..Reading::default()
            };
            let text = verdict(&reading);
            let document = read(text.as_bytes(), Limits::default()).unwrap();
            assert_eq!(document.root().get(name).unwrap().as_str().unwrap(), "x.y");
            assert_eq!(document.root().get("id").unwrap().as_str().unwrap(), "a\"b");
            assert!(document.root().get("tiers").is_none());
        }
    }

    #[test]
    fn tiers_are_listed_by_name() {
        let tiers = Tiers {
            repo10: true,
            seed5: true,
            ..Tiers::default()
        };
        let reading = Reading {
            dialect: Some(DialectName::Aee),
            tiers: Some(tiers),
            ..Reading::default()
        };
        assert!(verdict(&reading).contains(
            "\"tiers\":{\"repo10\":true,\"seed10\":false,\"repo5\":false,\"seed5\":true,\"full14\":false}"
        ));
    }
}
