//! UAI-1.

use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::Value;
use crate::{DialectName, Rules};

/// UAI-1.
pub struct Uai;

impl Dialect for Uai {
    fn name(&self) -> DialectName {
        DialectName::Uai
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
