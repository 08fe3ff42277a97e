//! What is known about an envelope's signature.

/// The word for it. Having a signature is never a verdict: only [`Verdict::Verified`] says that one
/// holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It holds, by a key that was known, valid then, and speaks for the sender.
    Verified,
    /// There is one in a form that cannot be judged here.
    Unverified,
    /// There is one of a key that is not in the ring.
    UnknownKey,
    /// There is one and it does not hold, or its key may not be used for this.
    Bad,
    /// There is none.
    Absent,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 5] = [
        Self::Verified,
        Self::Unverified,
        Self::UnknownKey,
        Self::Bad,
        Self::Absent,
    ];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::UnknownKey => "unknown_key",
            Self::Bad => "bad",
            Self::Absent => "absent",
        }
    }
}

/// How much of an envelope a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Every member but the signature itself.
    Full,
    /// At least what the publications of AEE ask for (`aee.md` 1.8), but not everything: what is left
    /// out, such as `priority` and `requires`, can be changed unseen.
    Minimal,
}

impl Binding {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Minimal => "minimal",
        }
    }
}

/// The verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The name of the key, as the signature says it.
    pub kid: Option<String>,
    /// What a signature that holds covers.
    pub binding: Option<Binding>,
    /// Where in the envelope the signature stands, as a JSON pointer.
    pub pointer: String,
    /// One sentence: what was expected and what was found.
    pub detail: String,
}

impl Judgement {
    pub(crate) fn absent(pointer: &str) -> Self {
        Self {
            verdict: Verdict::Absent,
            kid: None,
            binding: None,
            pointer: pointer.into(),
            detail: "there is no signature".into(),
        }
    }

    pub(crate) fn of(
        verdict: Verdict,
        pointer: impl Into<String>,
        kid: Option<&str>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            verdict,
            kid: kid.map(str::to_owned),
            binding: None,
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }

    pub(crate) fn covers(self, binding: Binding) -> Self {
        Self {
            binding: Some(binding),
            ..self
        }
    }
}
