//! What checking found, before it is decided whether it refuses.
//!
//! The same short id refuses under the published schema and only warns under the article's profile,
//! so a check says how heavy its finding is and `tiers` decides (AEE 2.3, AEE 13).

use crate::fault::FAULTS_MAX;
use crate::{Code, Fault};

/// How heavy a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Breaks the published schema and no profile lets it pass.
    Always,
    /// Shorter than the published schema allows, yet usable: the article itself shows such ids
    /// (AEE 13, A5).
    Length,
    /// A reply that names no message: no profile delivers it, a log may keep it (AEE 2.2).
    Reply,
    /// Outside a recommended grammar: refused in strict mode, a warning in lenient mode.
    Grammar,
    /// Never refuses.
    Notice,
}

/// Everything found so far, in document order.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<(Weight, Fault)>,
}

impl Findings {
    /// Adds one.
    pub(super) fn push(
        &mut self,
        weight: Weight,
        code: Code,
        pointer: impl Into<String>,
        rule: &'static str,
        detail: impl Into<String>,
    ) {
        if self.list.len() < FAULTS_MAX {
            self.list
                .push((weight, Fault::new(code, pointer, rule, detail)));
        }
    }

    /// Whether anything of that weight was found.
    pub(super) fn any(&self, weight: Weight) -> bool {
        self.list.iter().any(|(found, _)| *found == weight)
    }

    /// The faults and the warnings, each still in document order.
    pub(super) fn split(self, refuses: impl Fn(Weight) -> bool) -> (Vec<Fault>, Vec<Fault>) {
        let (mut faults, mut warnings) = (Vec::new(), Vec::new());
        for (weight, fault) in self.list {
            if refuses(weight) {
                &mut faults
            } else {
                &mut warnings
            }
            .push(fault);
        }
        (faults, warnings)
    }
}
