//! The arguments of a tool, read strictly: every fault is collected, with a pointer into the arguments.

use super::Refusal;
use super::refusal::RULE;
use protocol::json::push_escaped;
use protocol::{Code, Fault, Rejection};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// What a caller gave. Ask for each member, then [`Arguments::finish`].
#[derive(Debug)]
pub(super) struct Arguments {
    given: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Arguments {
    pub(super) fn of(given: Option<Map<String, Value>>) -> Self {
        Self {
            given: given.unwrap_or_default(),
            faults: Vec::new(),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        // Hosts fill in null for what the model left out.
        self.given.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn refuse(&mut self, name: &str, detail: String) {
        let mut pointer = String::new();
        if !name.is_empty() {
            pointer.push('/');
            push_escaped(&mut pointer, name);
        }
        self.faults
            .push(Fault::new(Code::BadRequest, pointer, RULE, detail));
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            other => {
                let got = kind(&other);
                self.refuse(name, format!("expected `{name}` to be a text, got {got}"));
                None
            }
        }
    }

    /// A text that must be there; empty after a fault.
    pub(super) fn required(&mut self, name: &str) -> String {
        let before = self.faults.len();
        let text = self.text(name);
        if text.is_none() && self.faults.len() == before {
            self.refuse(name, format!("expected `{name}` to be present"));
        }
        text.unwrap_or_default()
    }

    /// One of some words.
    pub(super) fn word(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(name)?;
        let found = words.iter().copied().find(|word| *word == text);
        if found.is_none() {
            let words = words.join(", ");
            self.refuse(
                name,
                format!("expected `{name}` to be one of {words}, got {text:?}"),
            );
        }
        found
    }

    /// A whole number.
    pub(super) fn number(&mut self, name: &str, default: u64, allowed: RangeInclusive<u64>) -> u64 {
        let Some(value) = self.take(name) else {
            return default.clamp(*allowed.start(), *allowed.end());
        };
        // Models write 5.0 for 5.
        let number = value.as_u64().or_else(|| {
            let number = value.as_f64()?;
            (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
        });
        match number.filter(|number| allowed.contains(number)) {
            Some(number) => number,
            None => {
                let (least, most) = (allowed.start(), allowed.end());
                self.refuse(
                    name,
                    format!(
                        "expected `{name}` to be a whole number from {least} to {most}, got {value}"
                    ),
                );
                default
            }
        }
    }

    /// An object, or the JSON text of one, as text.
    pub(super) fn object(&mut self, name: &str) -> Option<String> {
        let value = self.take(name)?;
        let read = match &value {
            Value::String(text) => serde_json::from_str(text).ok(),
            other => Some(other.clone()),
        };
        match read {
            Some(Value::Object(object)) => Some(Value::Object(object).to_string()),
            _ => {
                let got = kind(&value);
                self.refuse(
                    name,
                    format!("expected `{name}` to be an object, got {got}"),
                );
                None
            }
        }
    }

    /// A whole envelope: the JSON text, which is sent as it is, or an object.
    pub(super) fn envelope(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            Value::Object(object) => Some(Value::Object(object).to_string()),
            other => {
                let got = kind(&other);
                self.refuse(
                    name,
                    format!("expected `{name}` to be an object or its JSON text, got {got}"),
                );
                None
            }
        }
    }

    /// One text or a list of texts.
    pub(super) fn texts(&mut self, name: &str, max: usize) -> Vec<String> {
        let list = match self.take(name) {
            None => return Vec::new(),
            Some(Value::Array(list)) => list,
            Some(one) => vec![one],
        };
        let count = list.len();
        let texts: Vec<String> = list
            .into_iter()
            .filter_map(|value| match value {
                Value::String(text) if !text.is_empty() => Some(text),
                _ => None,
            })
            .collect();
        if texts.len() != count || count > max {
            self.refuse(name, format!("expected `{name}` to be at most {max} texts"));
        }
        texts
    }

    /// Whether a member was given and not asked for yet.
    pub(super) fn has(&self, name: &str) -> bool {
        self.given.get(name).is_some_and(|value| !value.is_null())
    }

    /// Refuses what was not asked for, and everything that was wrong.
    pub(super) fn finish(mut self) -> Result<(), Refusal> {
        let unknown: Vec<String> = self.given.keys().cloned().collect();
        for name in unknown {
            if self.has(&name) {
                let detail = format!("expected an argument of this tool, got `{name}`");
                self.refuse(&name, detail);
            }
        }
        match Rejection::from_faults(self.faults) {
            Some(rejection) => Err(rejection.into()),
            None => Ok(()),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty text",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use serde_json::{Value, json};

    fn of(value: Value) -> Arguments {
        Arguments::of(value.as_object().cloned())
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let mut arguments = of(json!({"to": 1, "max": "x", "a/b": true, "none": null}));
        assert_eq!(arguments.text("to"), None);
        assert_eq!(arguments.number("max", 5, 1..=9), 5);
        assert_eq!(arguments.required("id"), "");
        let refused = arguments.finish().unwrap_err().0;
        let pointers = refused["errors"].as_array().unwrap().iter();
        let pointers: Vec<_> = pointers.map(|fault| fault["pointer"].clone()).collect();
        assert_eq!(pointers, ["/to", "/max", "/id", "/a~1b"]);
        assert_eq!(refused["code"], "bad_request");
    }

    #[test]
    fn what_models_write_is_understood() {
        let mut arguments = of(json!({"wait_ms": 5.0, "payload": "{\"a\":1}", "ids": "one"}));
        assert_eq!(arguments.number("wait_ms", 0, 0..=9), 5);
        assert_eq!(arguments.object("payload").unwrap(), r#"{"a":1}"#);
        assert_eq!(arguments.texts("ids", 3), ["one"]);
        arguments.finish().unwrap();
    }
}
