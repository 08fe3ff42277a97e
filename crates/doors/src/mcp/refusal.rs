//! A refusal as every door of the exchange writes it, and as a tool's result carries it.

use crate::http::problem;
use protocol::{Code, Fault, Rejection};
use serde_json::Value;

/// The rule that faults of a tool's arguments name.
pub(super) const RULE: &str = "MCP";

/// A problem document: `code`, `pointer`, `rule`, `detail`, `retryable`, `errors` and the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(pub Value);

impl Refusal {
    /// A refusal of something in a tool's arguments. `pointer` points into the arguments.
    #[must_use]
    pub fn of_arguments(pointer: &str, detail: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, pointer, detail)
    }

    /// A refusal with one fault.
    #[must_use]
    pub fn new(code: Code, pointer: &str, detail: impl Into<String>) -> Self {
        Rejection::from(Fault::new(code, pointer, RULE, detail)).into()
    }

    /// The text of a problem document that came from an exchange.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        value.get("code")?.as_str()?;
        Some(Self(value))
    }

    /// One line for people: the code, where, and what was expected.
    #[must_use]
    pub fn sentence(&self) -> String {
        let text = |name: &str| self.0.get(name).and_then(Value::as_str).unwrap_or_default();
        format!(
            "{} at {:?}: {}",
            text("code"),
            text("pointer"),
            text("detail")
        )
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.get("retryable").and_then(Value::as_bool) == Some(true)
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        let mut text = String::new();
        problem::write(&mut text, &rejection, "", None);
        Self(serde_json::from_str(&text).unwrap_or(Value::Null))
    }
}
