//! Agent Envelope Exchange.

use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::Value;
use crate::{DialectName, Rules};

/// Agent Envelope Exchange.
pub struct Aee;

impl Dialect for Aee {
    fn name(&self) -> DialectName {
        DialectName::Aee
    }
    fn recognizes(&self, doc: Value<'_>) -> bool {
        let _ = doc;
        false
    }
    fn read(&self, doc: Value<'_>, rules: &Rules) -> Reading {
        let _ = (doc, rules);
        Reading::default()
    }
    fn fault_word(&self, class: Class) -> &'static str {
        let _ = class;
        ""
    }
}
