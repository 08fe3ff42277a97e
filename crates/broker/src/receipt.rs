//! What a publisher gets, after the commit.

use exchange::RecipientState;
use journal::{Cursor, Durability};
use protocol::json::push_string;
use protocol::verdict::write_fault;
use protocol::{Fault, Header, Party};
use std::fmt::Write as _;
use std::sync::Arc;

/// The promise made to a publisher: the envelope is in the journal at `cursor`.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The facts of what was accepted.
    pub header: Arc<Header>,
    /// Where it stands.
    pub cursor: Cursor,
    /// What the commit survives.
    pub durability: Durability,
    /// Whether this repeats an earlier publish, whose receipt this is.
    pub duplicate: bool,
    /// The id that it was first published under, when that is another.
    pub duplicate_of: Option<Box<str>>,
    /// One line per recipient.
    pub recipients: Vec<(Party, RecipientState)>,
    /// What the sender should know.
    pub warnings: Vec<Fault>,
}

impl Receipt {
    /// The receipt's JSON object, appended to `out`.
    pub fn write_json(&self, out: &mut String) {
        out.push_str("{\"id\":");
        push_string(out, &self.header.id);
        let _ = write!(
            out,
            ",\"cursor\":\"{}\",\"dialect\":\"{}\",\"durability\":\"{}\",\"duplicate\":{}",
            self.cursor,
            self.header.dialect.as_str(),
            durability_word(self.durability),
            self.duplicate
        );
        if let Some(first) = &self.duplicate_of {
            out.push_str(",\"duplicate_of\":");
            push_string(out, first);
        }
        out.push_str(",\"recipients\":[");
        for (at, (party, state)) in self.recipients.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str("{\"party\":");
            push_string(out, party.as_str());
            let _ = write!(out, ",\"state\":\"{}\"}}", state.as_str());
        }
        out.push_str("],\"warnings\":[");
        for (at, warning) in self.warnings.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_fault(out, warning);
        }
        out.push_str("]}");
    }

    /// The JSON object as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(256);
        self.write_json(&mut out);
        out
    }
}

/// `fsync`, `os` or `memory`.
#[must_use]
pub fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::Fsync => "fsync",
        Durability::Os => "os",
        Durability::Memory => "memory",
    }
}
