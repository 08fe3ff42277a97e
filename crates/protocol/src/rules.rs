//! What a reader demands of an envelope.

use crate::Timestamp;

/// How much a reader tolerates beyond what a protocol's text allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only what is published: AEP refuses unknown event types, UAI-1 takes the twelve members only,
    /// AEE ids, times, intents and entities must follow the recommended grammar.
    Strict,
    /// Carries what it does not know and warns.
    #[default]
    Lenient,
}

/// Which set of AEE fields makes an envelope deliverable (AEE 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AeePolicy {
    /// Exactly the published JSON Schema.
    Repo,
    /// The article's ten fields.
    Seed,
    /// The twelve fields of both.
    Both,
    /// Either of the two ten-field sets.
    #[default]
    Either,
    /// Any five-field tier; such envelopes go to the log intake.
    Log,
}

impl AeePolicy {
    /// The word users type: `repo`, `seed`, `both`, `either` or `log`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "repo" => Self::Repo,
            "seed" => Self::Seed,
            "both" => Self::Both,
            "either" => Self::Either,
            "log" => Self::Log,
            _ => return None,
        })
    }
}

impl Mode {
    /// The word users type: `strict` or `lenient`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "strict" => Self::Strict,
            "lenient" => Self::Lenient,
            _ => return None,
        })
    }
}

/// Everything that reading one envelope depends on besides its bytes.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The reader's clock: decides what has expired.
    pub now: Timestamp,
    /// Strict or lenient.
    pub mode: Mode,
    /// Which AEE field sets are deliverable.
    pub aee_policy: AeePolicy,
    /// Accept the older AEP spelling, `aep_version` "0.1" in place of `spec_version` "0.2".
    pub aep_accept_0_1: bool,
    /// Largest envelope, in bytes.
    pub envelope_bytes_max: usize,
    /// Deepest nesting of arrays and objects.
    pub depth_max: usize,
    /// Most direct recipients of one envelope.
    pub recipients_max: usize,
}

impl Rules {
    /// The defaults: lenient, policy `either`, 1 MiB, depth 64, 256 recipients.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            mode: Mode::Lenient,
            aee_policy: AeePolicy::Either,
            aep_accept_0_1: false,
            envelope_bytes_max: 1 << 20,
            depth_max: 64,
            recipients_max: 256,
        }
    }

    /// The same rules with another mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The same rules with another AEE admission policy.
    #[must_use]
    pub fn policy(mut self, policy: AeePolicy) -> Self {
        self.aee_policy = policy;
        self
    }
}
