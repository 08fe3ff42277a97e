//! What a message agrees with the exchange itself: a claim on a resource, the end of a conflict, an
//! offer of features. Only UAI-1 has words for it (UAI 9.6, 9.8); the exchange acts on these facts.

/// What one message agrees with the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coordination {
    /// It changes a resource that was at that version (UAI 9.8 X1).
    Claim {
        /// The resource.
        resource: Box<str>,
        /// The version, as canonical JSON.
        base_version: Box<str>,
    },
    /// A human ends a conflict (UAI 9.8 X4).
    Resolve {
        /// The blocker's id.
        blocker: Box<str>,
    },
    /// It corrects a message, and ends the conflict over it (UAI 9.8 X4).
    Correct {
        /// The message's id.
        message: Box<str>,
    },
    /// It offers features; what comes of that with the abilities of this build (UAI 9.6).
    Offer(Offer),
}

/// What comes of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The negotiation's id.
    pub negotiation: Box<str>,
    /// The features of both; `None` when something that is required is missing.
    pub features: Option<Vec<Box<str>>>,
    /// The body of the answer, as JSON.
    pub answer: Box<str>,
}
