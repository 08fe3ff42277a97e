//! What a message agrees with the exchange itself: claims on resources, the end of a conflict. Only
//! UAI-1 has words for it (UAI 9.8); the exchange acts on these facts.

/// What one message agrees with the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coordination {
    /// It changes resources that were at these versions (UAI 9.8 X1): all of them, or none.
    Claims(Vec<Claim>),
    /// A human ends a conflict (UAI 9.8 X4).
    Resolve {
        /// The blocker's id.
        blocker: Box<str>,
        /// Whether the claim that lost is accepted now.
        grants: bool,
    },
    /// It corrects a message, and ends the conflict over it (UAI 9.8 X4).
    Correct {
        /// The message's id.
        message: Box<str>,
    },
}

/// A claim on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The resource.
    pub resource: Box<str>,
    /// The version that it is based on, as canonical JSON.
    pub base_version: Box<str>,
    /// Whether it gives the resource up instead of taking it.
    pub is_release: bool,
}

/// What comes of an offer of features (UAI 9.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The negotiation's id.
    pub negotiation: Box<str>,
    /// The features of both; `None` when something that is required is missing.
    pub features: Option<Vec<Box<str>>>,
    /// The body of the answer, as JSON.
    pub answer: Box<str>,
}
