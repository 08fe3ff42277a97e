//! Whether a message is new, a repeat of one that was seen, or a contradiction of it.
//!
//! A sender's id names one message. Where a message carries an idempotency key (UAI 4 D6), that key
//! names one message for each recipient: a message may be new to some of its recipients and a repeat
//! to others, and copies of one message for single recipients (UAI 9.2 B2) are the message itself.

use super::{Dedupe, First, Key, OlderUnreadable};
use crate::publish::RecipientState;
use protocol::{Code, DialectName, Fault, Header, Party, Rejection};

/// What a message is to what was seen before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// New to everybody but these.
    New(Vec<Party>),
    /// Seen before by all.
    Repeat(First),
}

impl Dedupe {
    /// Judges a message by what was seen before.
    ///
    /// # Errors
    /// `id_conflict`, `idempotency_conflict`; `storage_failed` when older messages cannot be asked.
    pub(crate) fn standing(&self, header: &Header) -> Result<Standing, Rejection> {
        let own = self.look(Key::of_id(&header.sender, &header.id))?;
        let Some(key) = &header.idempotency_key else {
            return match own {
                None => Ok(Standing::New(Vec::new())),
                Some(first) if first.is_repeated_by(header.fingerprint) => {
                    Ok(Standing::Repeat(first))
                }
                Some(_) => Err(id_conflict(header).into()),
            };
        };
        let (mut known, mut seen) = (Vec::new(), Vec::new());
        for recipient in scopes(header) {
            let scoped = Key::of_recipient(&header.sender, recipient, key);
            let Some(first) = self.look(scoped)? else {
                continue;
            };
            if !first.is_repeated_by(header.fingerprint)
                && !self.is_copy(header, recipient, first)?
            {
                return Err(idempotency_conflict(header, key, recipient).into());
            }
            known.push(recipient);
            seen.push(first);
        }
        let is_known_to_all = known.len() == scopes(header).count();
        match (own, seen.iter().min_by_key(|first| first.sequence)) {
            (Some(own), _) if is_known_to_all && seen.contains(&own) => Ok(Standing::Repeat(own)),
            // The id stands for a message with another key, or for other recipients.
            (Some(_), _) => Err(id_conflict(header).into()),
            (None, Some(first)) if is_known_to_all => Ok(Standing::Repeat(*first)),
            (None, _) => Ok(Standing::New(
                known.into_iter().map(Party::from_canonical).collect(),
            )),
        }
    }

    /// Remembers all keys that a new message takes; `known` are recipients it was no news to.
    pub(crate) fn remember_message(&mut self, header: &Header, known: &[Party], sequence: u64) {
        if sequence <= self.covered() {
            // Stored elsewhere; no need to work its keys out.
            return;
        }
        let first = First::new(sequence, header.fingerprint);
        self.remember(Key::of_id(&header.sender, &header.id), first);
        let Some(key) = &header.idempotency_key else {
            return;
        };
        for recipient in scopes(header) {
            if known.iter().any(|party| party.as_str() == recipient) {
                continue;
            }
            self.remember(Key::of_recipient(&header.sender, recipient, key), first);
            if let Some(origin) = &header.origin {
                self.remember(Key::of_copy(&header.sender, recipient, origin), first);
            }
        }
    }

    /// Whether the message and `first` are two copies of one message, or a message and its copy.
    /// Copies differ in their bodies, so only what they say about their origin can tell (UAI 4 D6).
    fn is_copy(&self, header: &Header, recipient: &str, first: First) -> Result<bool, Rejection> {
        let is_first = |key| {
            Ok::<_, Rejection>(
                self.look(key)?
                    .is_some_and(|found| found.sequence == first.sequence),
            )
        };
        let origin = header.origin.as_deref();
        let copied = origin.unwrap_or(&header.id);
        if is_first(Key::of_copy(&header.sender, recipient, copied))? {
            return Ok(true);
        }
        match origin {
            Some(origin) => is_first(Key::of_id(&header.sender, origin)),
            None => Ok(false),
        }
    }

    /// As [`Self::first`], with the refusal that a publisher gets.
    pub(crate) fn look(&self, key: Key) -> Result<Option<First>, Rejection> {
        self.first(key).map_err(|OlderUnreadable| {
            Fault::new(
                Code::StorageFailed,
                "",
                "ARCHITECTURE dedupe",
                "expected the keys of older messages to be readable, to know whether this one is new",
            )
            .into()
        })
    }
}

/// The recipients that an idempotency key is valid for; a message without recipients has one scope.
fn scopes(header: &Header) -> impl Iterator<Item = &str> {
    let none = header.recipients.is_empty().then_some("");
    header.recipients.iter().map(Party::as_str).chain(none)
}

/// Recipients that a stored message was no news to, by the lines of its receipt.
pub(crate) fn known_from(lines: &[(Party, RecipientState)]) -> Vec<Party> {
    let known = lines.iter().filter(|(_, state)| match state {
        RecipientState::Duplicate => true,
        RecipientState::Stored | RecipientState::Refused | RecipientState::Dead => false,
    });
    known.map(|(party, _)| party.clone()).collect()
}

fn id_conflict(header: &Header) -> Fault {
    let pointer = match header.dialect {
        DialectName::Aee | DialectName::Aep => "/id",
        DialectName::Uai => "/message_id",
    };
    let detail = format!(
        "expected the bytes that {} first sent under {:?}",
        header.sender, header.id
    );
    Fault::new(Code::IdConflict, pointer, "ARCHITECTURE dedupe", detail)
}

fn idempotency_conflict(header: &Header, key: &str, recipient: &str) -> Fault {
    let to = match recipient {
        "" => String::new(),
        recipient => format!(" to {recipient}"),
    };
    let detail = format!(
        "expected the profile, correlation and body that {} first sent{to} under {key:?}",
        header.sender
    );
    let pointer = "/delivery/idempotency_key";
    Fault::new(Code::IdempotencyConflict, pointer, "UAI 4 D6", detail)
}
