//! Subscription filters: which envelopes a reader wants.

use crate::Header;

/// The fields a filter can constrain, in the spelling of every surface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// `type` patterns.
    pub kinds: Vec<Box<str>>,
}

impl Filter {
    /// Whether an envelope with this header passes.
    #[must_use]
    pub fn matches(&self, header: &Header) -> bool {
        let _ = header;
        false
    }
}
