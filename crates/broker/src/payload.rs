//! Payloads against the schemas of their intents, and decision evidence against what was asked for.

use crate::handle::Handle;
use crate::schemas::PayloadCheck;
use protocol::{Code, DialectName, Fault, Header, Rejection};
use serde_json::Value;

impl Handle {
    /// Looks at the payload of an envelope that is about to be published. What is wrong with it is a
    /// warning or a refusal, as the settings say.
    ///
    /// # Errors
    /// `payload_invalid`, with every place that the schema does not allow.
    pub fn check_payload(
        &self,
        header: &Header,
        envelope: &[u8],
        warnings: &mut Vec<Fault>,
    ) -> Result<(), Rejection> {
        let way = self.settings().payload_check;
        let faults = match way {
            PayloadCheck::Off => return Ok(()),
            PayloadCheck::Warn | PayloadCheck::Enforce => self.payload_faults(header, envelope),
        };
        if way == PayloadCheck::Warn {
            warnings.extend(faults);
            return Ok(());
        }
        Rejection::from_faults(faults).map_or(Ok(()), Err)
    }

    fn payload_faults(&self, header: &Header, envelope: &[u8]) -> Vec<Fault> {
        let (DialectName::Aee, Some(intent)) = (header.dialect, &header.intent) else {
            return Vec::new();
        };
        let schemas = &self.settings().schemas;
        let has_schema = schemas.has(intent, &header.kind);
        let evidence = self.evidence_asked_for(header);
        if !has_schema && evidence.is_none() {
            return Vec::new();
        }
        // It was read before, so only what this reader cannot hold is left out.
        let Ok(whole) = serde_json::from_slice::<Value>(envelope) else {
            return Vec::new();
        };
        let payload = whole.get("payload").unwrap_or(&Value::Null);
        let found = schemas.check(intent, &header.kind, payload, "/payload");
        let mut faults = found.unwrap_or_default();
        if let Some(level) = evidence {
            faults.extend(missing_evidence(level, payload));
        }
        faults
    }

    /// The level of decision evidence that the task which a result answers asked for (AEE 5.2). None
    /// also when the task is not known here.
    fn evidence_asked_for(&self, header: &Header) -> Option<&'static str> {
        let cause = header
            .cause
            .as_deref()
            .filter(|_| &*header.kind == "result")?;
        let found = self.shared.by_id(cause).ok()?;
        let asked = found
            .into_iter()
            .find(|entry| header.recipients.contains(&entry.header.sender))?;
        let task: Value = serde_json::from_slice(&asked.envelope).ok()?;
        let level = task.pointer("/requires/decision_evidence")?.as_str()?;
        LEVELS
            .iter()
            .map(|(name, _)| *name)
            .find(|name| *name == level)
    }
}

/// What each level of decision evidence has (AEE 5.2).
const LEVELS: [(&str, &[&str]); 3] = [
    ("minimal", &["decision", "reason_summary"]),
    ("standard", STANDARD),
    ("full", FULL),
];

const STANDARD: &[&str] = &[
    "inputs_used",
    "tools_used",
    "decision",
    "reason_summary",
    "action_taken",
    "confidence",
];

const FULL: &[&str] = &[
    "inputs_used",
    "tools_used",
    "decision",
    "reason_summary",
    "action_taken",
    "confidence",
    "context_refs",
];

fn missing_evidence(level: &str, payload: &Value) -> Vec<Fault> {
    let members = LEVELS.iter().find(|(name, _)| *name == level);
    let members = members.map_or(&[][..], |(_, members)| members);
    let evidence = payload.get("decision_evidence");
    let is_missing = |name: &&&str| evidence.is_none_or(|evidence| evidence.get(**name).is_none());
    let fault = |name: &&str| {
        let pointer = format!("/payload/decision_evidence/{name}");
        let detail = format!("expected `{name}`: the task asked for {level} decision evidence");
        Fault::new(Code::PayloadInvalid, pointer, "AEE 5.2", detail)
    };
    members.iter().filter(is_missing).map(fault).collect()
}
