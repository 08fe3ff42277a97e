//! A JSON object being written, member by member.

use crate::json::push_string;

pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self("{".into())
    }

    pub(super) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, &quoted(value))
    }

    pub(super) fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(super) fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    pub(super) fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}
