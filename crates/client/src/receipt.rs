//! The promise a publisher gets.

use serde::Deserialize;

/// The exchange has the envelope, durable at `cursor`.
#[derive(Clone, Debug, Deserialize)]
pub struct Receipt {
    /// The envelope's id.
    pub id: String,
    /// Where it stands in the journal.
    pub cursor: String,
    /// `aee`, `aep` or `uai`.
    #[serde(default)]
    pub dialect: String,
    /// What the commit survives: `fsync`, `os` or `memory`.
    #[serde(default)]
    pub durability: String,
    /// Whether this repeats an earlier publish.
    #[serde(default)]
    pub duplicate: bool,
    /// The id that it was first published under, when that is another.
    #[serde(default)]
    pub duplicate_of: Option<String>,
    /// One line per recipient.
    #[serde(default)]
    pub recipients: Vec<Recipient>,
    /// What the sender should know.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The receipt as it came.
    #[serde(skip)]
    pub raw: String,
}

/// What became of one recipient's copy.
#[derive(Clone, Debug, Deserialize)]
pub struct Recipient {
    /// The party.
    pub party: String,
    /// `stored`, `delivered`, `acked`, `expired`, `dead`, `refused` or `duplicate`.
    pub state: String,
}

/// Advice about an accepted envelope.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Warning {
    /// The stable fault code.
    pub code: String,
    /// RFC 6901 pointer into the envelope.
    pub pointer: String,
    /// What was expected and what came.
    pub detail: String,
}

impl Receipt {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut receipt: Self = serde_json::from_str(text).ok()?;
        text.clone_into(&mut receipt.raw);
        Some(receipt)
    }
}
