//! WARD 0.1: witness chains of content-free receipts, and their tips (AEE 10).
//!
//! An entry holds a hash of what was witnessed and never the thing. A tip, copied to where the exchange
//! cannot write again, makes a rewritten chain visible.

use crate::key::{PublicKey, SecretKey};
use crate::volt::canonical;
use protocol::json::{self, Limits, Value, push_string};
use protocol::{Timestamp, base64, digest};
use std::collections::HashSet;

/// The version that is written and read.
pub const VERSION: &str = "0.1";

/// What a source may be.
pub const SOURCE_KINDS: [&str; 5] = ["AEE", "AOCL", "VOLT", "WARD", "EXTERNAL"];

/// The hash that a chain begins with.
#[must_use]
pub fn genesis(chain_id: &str) -> String {
    digest(format!("WARD-GENESIS|{chain_id}").as_bytes()).to_hex()
}

/// What is witnessed.
#[derive(Clone, Copy, Debug)]
pub struct Witnessed<'w> {
    /// The entry's own id.
    pub entry_id: &'w str,
    /// When.
    pub at: Timestamp,
    /// One of [`SOURCE_KINDS`].
    pub source_kind: &'w str,
    /// The id of the thing; of one kind each only once in a chain.
    pub source_id: &'w str,
    /// SHA-256 of the thing, lower hexadecimal.
    pub payload_hash: &'w str,
}

/// A chain being written.
#[derive(Clone, Debug)]
pub struct Chain {
    id: String,
    issuer: String,
    seq: u64,
    head: String,
}

impl Chain {
    /// A chain without entries. `None` for an id or an issuer with `|` or control characters, which
    /// would let two entries have one hash (AEE 10.3).
    #[must_use]
    pub fn new(id: &str, issuer: &str) -> Option<Self> {
        (is_plain(id) && is_plain(issuer)).then(|| Self {
            id: id.into(),
            issuer: issuer.into(),
            seq: 0,
            head: genesis(id),
        })
    }

    /// The chain after an entry that was written before.
    #[must_use]
    pub fn resume(mut self, seq: u64, head: &str) -> Self {
        (self.seq, self.head) = (seq, head.into());
        self
    }

    /// The line that witnesses; `None` for texts that a chain cannot hold.
    pub fn add(&mut self, what: &Witnessed<'_>) -> Option<String> {
        let is_fine = is_plain(what.entry_id)
            && is_plain(what.source_id)
            && SOURCE_KINDS.contains(&what.source_kind);
        if !is_fine {
            return None;
        }
        let (seq, at) = (self.seq + 1, what.at.to_string());
        let hash = chain_hash(&[
            &self.head,
            &self.id,
            &seq.to_string(),
            what.entry_id,
            &at,
            what.source_kind,
            what.source_id,
            what.payload_hash,
        ]);
        let mut line = format!("{{\"ward_version\":\"{VERSION}\"");
        for (name, text) in [("ward_entry_id", what.entry_id), ("chain_id", &self.id)] {
            member(&mut line, name, text);
        }
        line.push_str(&format!(",\"seq\":{seq}"));
        for (name, text) in [
            ("witnessed_at", &*at),
            ("source_kind", what.source_kind),
            ("source_id", what.source_id),
            ("payload_hash", what.payload_hash),
            ("prev_chain_hash", &self.head),
            ("chain_hash", &hash),
            ("issuer_id", &self.issuer),
        ] {
            member(&mut line, name, text);
        }
        line.push('}');
        (self.seq, self.head) = (seq, hash);
        Some(line)
    }

    /// The tip of the chain as it is, signed when there is a key; `None` for a chain without entries.
    #[must_use]
    pub fn tip(
        &self,
        tip_id: &str,
        at: Timestamp,
        key: Option<(&str, &SecretKey)>,
    ) -> Option<String> {
        if self.seq == 0 {
            return None;
        }
        let mut line = String::from("{\"tip_id\":");
        push_string(&mut line, tip_id);
        member(&mut line, "chain_id", &self.id);
        line.push_str(&format!(",\"tip_seq\":{}", self.seq));
        member(&mut line, "tip_chain_hash", &self.head);
        line.push_str(&format!(",\"entry_count\":{}", self.seq));
        member(&mut line, "created_at", &at.to_string());
        if let Some((key_id, key)) = key {
            let mut value = Vec::new();
            base64::encode(&mut value, &key.sign(self.head.as_bytes()));
            member(&mut line, "key_id", key_id);
            member(
                &mut line,
                "sig",
                &String::from_utf8(value).unwrap_or_default(),
            );
        }
        line.push('}');
        Some(line)
    }

    /// Entries so far.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The hash of the last entry; the genesis before there is one.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }
}

fn member(line: &mut String, name: &str, text: &str) {
    line.push_str(&format!(",\"{name}\":"));
    push_string(line, text);
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c == '|' || c.is_control())
}

/// SHA-256 of the eight texts joined by `|` (AEE 10.2).
fn chain_hash(parts: &[&str; 8]) -> String {
    digest(parts.join("|").as_bytes()).to_hex()
}

/// Why a chain is not intact, in WARD's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are WARD's own words")]
pub enum Reason {
    GenesisMismatch,
    ChainHashMismatch,
    ChainLinkBroken,
    SeqInvalid,
    DuplicateSource,
    TipMismatch,
    TipSignatureInvalid,
}

impl Reason {
    /// The word in the result.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenesisMismatch => "GENESIS_MISMATCH",
            Self::ChainHashMismatch => "CHAIN_HASH_MISMATCH",
            Self::ChainLinkBroken => "CHAIN_LINK_BROKEN",
            Self::SeqInvalid => "SEQ_INVALID",
            Self::DuplicateSource => "DUPLICATE_SOURCE",
            Self::TipMismatch => "TIP_MISMATCH",
            Self::TipSignatureInvalid => "TIP_SIGNATURE_INVALID",
        }
    }
}

/// What a verification of a chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Everything holds.
    Intact {
        /// Entries, all of which hold.
        entry_count: u64,
        /// The hash of the last.
        head: String,
        /// Tips that agree.
        tips: u64,
        /// Signatures that hold, of tips.
        signatures: u64,
    },
    /// Something was changed, with the number of the entry.
    Broken {
        /// Why.
        reason: Reason,
        /// Which entry or tip.
        seq: u64,
        /// One sentence.
        detail: String,
    },
    /// All that is there holds, but a tip says that there was more.
    Partial {
        /// The last entry.
        verified_through: u64,
        /// What the tip says.
        expected: u64,
    },
    /// A line is no entry.
    Unreadable {
        /// Which line, from 1.
        line: u64,
        /// One sentence.
        detail: String,
    },
}

impl Finding {
    /// The exit status of a verifier.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Intact { .. } => 0,
            Self::Broken { .. } => 1,
            Self::Unreadable { .. } => 2,
            Self::Partial { .. } => 3,
        }
    }
}

/// Verifies the lines of a chain, oldest first, against tips that were kept elsewhere. `key` finds the
/// key of a tip's signature.
#[must_use]
pub fn verify<'l>(
    chain_id: &str,
    lines: impl IntoIterator<Item = &'l [u8]>,
    tips: &[&[u8]],
    key: impl Fn(&str) -> Option<PublicKey>,
) -> Finding {
    let broken = |reason, seq, detail: &str| Finding::Broken {
        reason,
        seq,
        detail: detail.into(),
    };
    let mut hashes = vec![genesis(chain_id)];
    let mut sources = HashSet::new();
    for (at, line) in lines.into_iter().enumerate() {
        let number = at as u64 + 1;
        let unreadable = |detail: String| Finding::Unreadable {
            line: number,
            detail,
        };
        let document = match json::read(line, Limits::default()) {
            Ok(document) => document,
            Err(fault) => return unreadable(fault.to_string()),
        };
        let Some(entry) = Entry::read(document.root()) else {
            return unreadable("expected the eleven members of an entry of WARD 0.1".into());
        };
        let previous = hashes.last().cloned().unwrap_or_default();
        if entry.chain_id != chain_id {
            return broken(Reason::GenesisMismatch, number, "it is of another chain");
        }
        if number == 1 && entry.previous != previous {
            return broken(
                Reason::GenesisMismatch,
                1,
                "it does not begin with this chain's genesis",
            );
        }
        let computed = chain_hash(&[
            &entry.previous,
            &entry.chain_id,
            &entry.seq.to_string(),
            &entry.entry_id,
            &entry.at,
            &entry.kind,
            &entry.source_id,
            &entry.payload_hash,
        ]);
        if computed != entry.hash {
            let detail = format!("expected chain_hash {computed}, got {}", entry.hash);
            return broken(Reason::ChainHashMismatch, entry.seq, &detail);
        }
        if entry.previous != previous {
            return broken(
                Reason::ChainLinkBroken,
                entry.seq,
                "it does not follow the entry before it",
            );
        }
        if entry.seq != number {
            let detail = format!("expected entry {number}, got {}", entry.seq);
            return broken(Reason::SeqInvalid, entry.seq, &detail);
        }
        if !sources.insert((entry.kind, entry.source_id)) {
            return broken(
                Reason::DuplicateSource,
                entry.seq,
                "this source was witnessed before",
            );
        }
        hashes.push(entry.hash);
    }
    let count = hashes.len() as u64 - 1;
    let (mut agree, mut signed) = (0, 0);
    for tip in tips {
        match check_tip(chain_id, tip, &hashes, &key) {
            Ok(is_signed) => {
                agree += 1;
                signed += u64::from(is_signed);
            }
            Err(finding) => return finding,
        }
    }
    Finding::Intact {
        entry_count: count,
        head: hashes.pop().unwrap_or_default(),
        tips: agree,
        signatures: signed,
    }
}

/// Whether the tip is signed, when it agrees.
fn check_tip(
    chain_id: &str,
    tip: &[u8],
    hashes: &[String],
    key: &impl Fn(&str) -> Option<PublicKey>,
) -> Result<bool, Finding> {
    let broken = |reason, seq, detail: &str| Finding::Broken {
        reason,
        seq,
        detail: detail.into(),
    };
    let document = json::read(tip, Limits::default())
        .map_err(|fault| broken(Reason::TipMismatch, 0, &fault.to_string()))?;
    let root = document.root();
    let text = |name: &str| root.get(name).and_then(Value::as_str);
    let number = |name: &str| {
        let value = root.get(name).and_then(Value::as_i64);
        value.and_then(|value| usize::try_from(value).ok())
    };
    let (Some(chain), Some(hash), Some(seq)) =
        (text("chain_id"), text("tip_chain_hash"), number("tip_seq"))
    else {
        return Err(broken(Reason::TipMismatch, 0, "expected a tip of WARD 0.1"));
    };
    let shown = seq as u64;
    if chain != chain_id || seq == 0 || number("entry_count") != Some(seq) {
        return Err(broken(
            Reason::TipMismatch,
            shown,
            "it is of another chain or contradicts itself",
        ));
    }
    let is_signed = match text("sig") {
        None => false,
        Some(sig) => {
            let key_id = text("key_id").unwrap_or_default();
            let holds = base64::decode(&sig).is_some_and(|sig| {
                key(&key_id).is_some_and(|key| key.holds(hash.as_bytes(), &sig))
            });
            if !holds {
                let detail = format!("expected a signature of {key_id:?} over the hash of the tip");
                return Err(broken(Reason::TipSignatureInvalid, shown, &detail));
            }
            true
        }
    };
    match hashes.get(seq) {
        Some(found) if *found == *hash => Ok(is_signed),
        Some(found) => {
            let detail =
                format!("expected the hash {hash} that was witnessed elsewhere, got {found}");
            Err(broken(Reason::TipMismatch, shown, &detail))
        }
        None => Err(Finding::Partial {
            verified_through: hashes.len() as u64 - 1,
            expected: shown,
        }),
    }
}

struct Entry {
    chain_id: String,
    seq: u64,
    entry_id: String,
    at: String,
    kind: String,
    source_id: String,
    payload_hash: String,
    previous: String,
    hash: String,
}

impl Entry {
    fn read(entry: Value<'_>) -> Option<Self> {
        let text = |name: &str| {
            let value = entry.get(name)?.as_str()?;
            (!value.is_empty()).then(|| value.into_owned())
        };
        (text("ward_version")? == VERSION).then_some(())?;
        text("issuer_id")?;
        let kind = text("source_kind")?;
        SOURCE_KINDS.contains(&&*kind).then_some(())?;
        Some(Self {
            chain_id: text("chain_id")?,
            seq: u64::try_from(entry.get("seq")?.as_i64()?).ok()?,
            entry_id: text("ward_entry_id")?,
            at: text("witnessed_at")?,
            kind,
            source_id: text("source_id")?,
            payload_hash: text("payload_hash")?,
            previous: text("prev_chain_hash")?,
            hash: text("chain_hash")?,
        })
    }
}

/// What an AEE envelope is witnessed by: SHA-256 of its canonical form (AEE 10.2).
///
/// # Errors
/// When it has none.
pub fn payload_hash(envelope: Value<'_>) -> Result<String, protocol::Fault> {
    canonical::hash(envelope).map(|hash| hash.to_hex())
}
