//! Agent Event Protocol.

pub mod flow;

use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::Value;
use crate::{DialectName, Rules};

/// Agent Event Protocol.
pub struct Aep;

impl Dialect for Aep {
    fn name(&self) -> DialectName {
        DialectName::Aep
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
