//! Claims on resources: which version each is at, who made it that, and which conflicts are open.
//!
//! The exchange is the owner of every resource that is claimed through it: the order of acceptance is
//! the order of its journal. A claim on the current version moves it to the next; a claim on another
//! changes nothing, goes to nobody, and its sender gets a blocker. A fold over records, like all
//! state, so that a restart gives the same answer. Implements UAI 9.8.

mod snapshot;
mod speech;

use protocol::dialect::uai::negotiate::Agreements;
use protocol::task::SERVICE;
use protocol::{Code, Coordination, Fault, Header, Party, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// Longest name of a resource, in bytes.
const RESOURCE_BYTES_MAX: usize = 512;
/// Longest version, in bytes of JSON.
const VERSION_BYTES_MAX: usize = 128;
/// Most resources; their versions are never forgotten, so one more is refused.
const RESOURCES_MAX: usize = 100_000;
/// Most open blockers; beyond it the oldest is only in the journal.
const OPEN_MAX: usize = 100_000;

/// The state of claims, and what was agreed with whom.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Claims {
    resources: BTreeMap<Box<str>, Held>,
    /// In the order they were opened.
    open: VecDeque<Blocker>,
    pub(crate) agreements: Agreements,
}

/// Where a resource stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Its version, as canonical JSON.
    version: Box<str>,
    /// Who made it that, and with which message.
    by: Party,
    message: Box<str>,
}

/// A claim that lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    pub(crate) id: Box<str>,
    pub(crate) at: Timestamp,
    pub(crate) resource: Box<str>,
    /// The version that was claimed, and the one that stood.
    pub(crate) base: Box<str>,
    pub(crate) version: Box<str>,
    /// Who lost, with which message, where.
    pub(crate) loser: Party,
    pub(crate) message: Box<str>,
    pub(crate) conversation: Box<str>,
    pub(crate) correlation: Option<Box<str>>,
    /// The message that won.
    pub(crate) winner: Box<str>,
    /// Whether the loser knows the word `conflict`.
    pub(crate) has_word: bool,
}

/// What a message does here. Nothing has changed yet.
#[derive(Debug)]
pub(crate) enum Move {
    /// It coordinates nothing.
    None,
    /// It has the resource now, at that version.
    Won { resource: Box<str>, next: Box<str> },
    /// It says again what was accepted.
    Again,
    /// It was too late.
    Lost(Box<Blocker>),
    /// It ends these conflicts.
    Ends(Vec<Box<str>>),
    /// It offers features.
    Offers,
}

impl Move {
    /// Whether the message shall have no effect.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

impl Claims {
    /// Judges what a message agrees with the exchange.
    ///
    /// # Errors
    /// `too_long` for a name or version, `overloaded` for one resource too many.
    pub(crate) fn judge(&self, now: Timestamp, header: &Header) -> Result<Move, Fault> {
        let Some(coordination) = header.coordination.as_deref() else {
            return Ok(Move::None);
        };
        if let Coordination::Claim {
            resource,
            base_version,
        } = coordination
        {
            for (what, length, max) in [
                ("resource", resource.len(), RESOURCE_BYTES_MAX),
                ("version", base_version.len(), VERSION_BYTES_MAX),
            ] {
                if length > max {
                    let detail = format!("expected a {what} of at most {max} bytes, got {length}");
                    return Err(fault(Code::TooLong, detail));
                }
            }
            if !self.resources.contains_key(resource) && self.resources.len() >= RESOURCES_MAX {
                let detail = format!("expected at most {RESOURCES_MAX} resources, got one more");
                return Err(fault(Code::Overloaded, detail));
            }
        }
        Ok(self.weigh(now, header, coordination))
    }

    fn weigh(&self, now: Timestamp, header: &Header, coordination: &Coordination) -> Move {
        match coordination {
            Coordination::Claim {
                resource,
                base_version,
            } => match self.resources.get(resource) {
                Some(held) if is_of(held, header) => Move::Again,
                Some(held) if held.version != *base_version => {
                    Move::Lost(Box::new(self.blocker(now, header, resource, base_version, held)))
                }
                Some(_) | None => Move::Won {
                    resource: resource.clone(),
                    next: next(base_version),
                },
            },
            Coordination::Resolve { blocker } => {
                self.ends(|open| open.id == *blocker)
            }
            // Whoever corrects its own claim, or a human who corrects any.
            Coordination::Correct { message } => self.ends(|open| {
                let is_named = open.message == *message || open.id == *message;
                is_named && (open.loser == header.sender || header.sender.kind() == Some("human"))
            }),
            Coordination::Offer(_) => Move::Offers,
        }
    }

    fn ends(&self, is_ended: impl Fn(&Blocker) -> bool) -> Move {
        let ended = self.open.iter().filter(|open| is_ended(open));
        Move::Ends(ended.map(|open| open.id.clone()).collect())
    }

    fn blocker(
        &self,
        now: Timestamp,
        header: &Header,
        resource: &str,
        base: &str,
        held: &Held,
    ) -> Blocker {
        let mut agreed = self.agreements.features(&header.sender, now);
        Blocker {
            id: speech::blocker_id(header),
            at: now,
            resource: resource.into(),
            base: base.into(),
            version: held.version.clone(),
            loser: header.sender.clone(),
            message: header.id.clone(),
            conversation: header.conversation.clone().unwrap_or_default(),
            correlation: header.correlation.clone(),
            winner: held.message.clone(),
            has_word: agreed.any(|feature| feature == "ma.blocker_conflict"),
        }
    }

    /// Makes the move, and gives what the exchange has to say about it.
    pub(crate) fn perform(&mut self, now: Timestamp, header: &Header, step: Move) -> Vec<String> {
        match step {
            Move::None | Move::Again => Vec::new(),
            Move::Won { resource, next } => {
                let words = speech::won(header, &resource, &next, now);
                self.open
                    .retain(|open| open.resource != resource || open.loser != header.sender);
                let held = Held {
                    version: next,
                    by: header.sender.clone(),
                    message: origin(header).into(),
                };
                self.resources.insert(resource, held);
                words.into_iter().collect()
            }
            Move::Lost(blocker) => {
                let words = speech::lost(&blocker);
                self.open.push_back(*blocker);
                if self.open.len() > OPEN_MAX {
                    self.open.pop_front();
                }
                words
            }
            Move::Ends(ids) => {
                let mut words = Vec::new();
                for open in self.open.iter().filter(|open| ids.contains(&open.id)) {
                    if !header.recipients.contains(&open.loser) && open.loser != header.sender {
                        words.extend(speech::resolved(open, header, now));
                    }
                }
                self.open.retain(|open| !ids.contains(&open.id));
                words
            }
            Move::Offers => {
                let Some(Coordination::Offer(offer)) = header.coordination.as_deref() else {
                    return Vec::new();
                };
                self.agreements
                    .remember(&header.sender, now, offer.features.as_deref());
                speech::answered(header, offer, now).into_iter().collect()
            }
        }
    }

    /// Rebuilds the state from a message that is a record.
    pub(crate) fn apply(&mut self, at: Timestamp, header: &Header) {
        if let Some(coordination) = header.coordination.as_deref() {
            let step = self.weigh(at, header, coordination);
            self.perform(at, header, step);
        }
    }

    /// What was said of a claim that lost, for a sender that sends it again: it may not have heard.
    pub(crate) fn say_again(&self, header: &Header) -> Vec<String> {
        let Some(Coordination::Claim { .. }) = header.coordination.as_deref() else {
            return Vec::new();
        };
        let id = speech::blocker_id(header);
        let open = self.open.iter().rev().find(|open| open.id == id);
        open.map(speech::lost).unwrap_or_default()
    }

    /// How many conflicts nobody has resolved.
    pub(crate) fn open_count(&self) -> usize {
        self.open.len()
    }
}

/// Whether an offer is to the exchange alone, which needs no inbox for it.
pub(crate) fn is_own_business(header: &Header) -> bool {
    matches!(header.coordination.as_deref(), Some(Coordination::Offer(_)))
        && header.recipients.iter().any(|party| party.as_str() == SERVICE)
}

/// Copies of one message are one claim.
fn is_of(held: &Held, header: &Header) -> bool {
    held.by == header.sender && *held.message == *origin(header)
}

fn origin(header: &Header) -> &str {
    header.origin.as_deref().unwrap_or(&header.id)
}

/// The version after this one: a number, or a number at the end of a text, grows by one; any other
/// text gets `.1`, any other value becomes 1.
fn next(version: &str) -> Box<str> {
    if let Ok(number) = version.parse::<i64>() {
        return number.saturating_add(1).to_string().into();
    }
    let Some(text) = version
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return "1".into();
    };
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(stem.len()..).unwrap_or_default();
    match digits.parse::<u64>() {
        Ok(number) => format!("\"{stem}{}\"", number.saturating_add(1)).into(),
        Err(_) => format!("\"{text}.1\"").into(),
    }
}

fn fault(code: Code, detail: String) -> Fault {
    Fault::new(code, "/extensions", "UAI 9.8 X1", detail)
}
