//! Claims on resources: which version each is at, who made it that, and which conflicts are open.
//!
//! The exchange is the owner of every resource that is claimed through it: the order of acceptance is
//! the order of its journal. A claim on the current version moves it to the next; a claim on another
//! changes nothing, goes to nobody, and its sender gets a blocker. A fold over records, like all
//! state, so that a restart gives the same answer. Implements UAI 9.8.

mod blocker;
mod snapshot;
mod speech;
mod version;

use crate::directory::Directory;
use blocker::{Blocker, Blockers};
use protocol::coordination::Claim;
use protocol::task::SERVICE;
use protocol::{Code, Coordination, Fault, Header, Party, Timestamp};
use std::collections::BTreeMap;

/// Longest name of a resource, in bytes.
const RESOURCE_BYTES_MAX: usize = 512;
/// Longest version, in bytes of JSON; one that was counted on may be a little longer.
const VERSION_BYTES_MAX: usize = 128;
const VERSION_BYTES_GROWN_MAX: usize = VERSION_BYTES_MAX + 32;
/// Most claims in one message.
const CLAIMS_MAX: usize = 16;
/// Most resources; their versions are never forgotten, so one more is refused.
const RESOURCES_MAX: usize = 100_000;
/// Most who are told that a resource was given up: those who wait longest.
const TOLD_MAX: usize = 256;
/// The feature of those who know the blocker's type `conflict` (UAI 9.8 X2).
const CONFLICT_FEATURE: &str = "ma.blocker_conflict";

/// The state of claims.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    resources: BTreeMap<Box<str>, Held>,
    open: Blockers,
    /// Whether something may be unsaid that the journal shows should have been said. Not stored.
    may_owe_words: bool,
}

/// Where a resource stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Its version, as canonical JSON.
    version: Box<str>,
    /// Who made it that, when, and with which message under which key.
    by: Party,
    at: Timestamp,
    message: Box<str>,
    key: Box<str>,
    /// Whether whoever has had it gave it up.
    is_released: bool,
}

/// What a message does here. Nothing has changed yet.
#[derive(Debug)]
pub(crate) enum Move {
    /// It coordinates nothing, or says again what was accepted.
    None,
    /// Its sender has these resources now, or had them until now.
    Won(Vec<Gain>),
    /// It was too late.
    Lost(Box<Blocker>),
    /// A human ends a conflict, or one that there is not.
    Resolves { id: Box<str>, grants: bool },
    /// It ends these conflicts, by their numbers.
    Corrects(Vec<u64>),
}

/// A resource that is at this version now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gain {
    resource: Box<str>,
    version: Box<str>,
    is_release: bool,
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
    /// `too_long` for a name, a version or a list of claims, `overloaded` for one resource too many.
    pub(crate) fn judge(
        &self,
        now: Timestamp,
        header: &Header,
        directory: &Directory,
    ) -> Result<Move, Fault> {
        if let Some(Coordination::Claims(claims)) = spoken(header) {
            self.check(claims)?;
        }
        Ok(self.weigh(now, header, directory))
    }

    fn check(&self, claims: &[Claim]) -> Result<(), Fault> {
        let too_long = |what: &str, max: usize, got: usize| {
            let detail = format!("expected {what} of at most {max}, got {got}");
            Err(fault(Code::TooLong, detail))
        };
        if claims.len() > CLAIMS_MAX {
            return too_long("a number of claims", CLAIMS_MAX, claims.len());
        }
        let mut fresh = 0;
        for claim in claims {
            let (name, base) = (claim.resource.len(), claim.base_version.len());
            if name > RESOURCE_BYTES_MAX {
                return too_long("bytes in a resource's name", RESOURCE_BYTES_MAX, name);
            }
            let is_known = self.resources.contains_key(&claim.resource);
            let base_max = match is_known {
                true => VERSION_BYTES_GROWN_MAX,
                false => VERSION_BYTES_MAX,
            };
            if base > base_max {
                return too_long("bytes in a version", base_max, base);
            }
            fresh += usize::from(!is_known);
        }
        if fresh > 0 && self.resources.len() + fresh > RESOURCES_MAX {
            let detail = format!("expected at most {RESOURCES_MAX} resources, got one more");
            return Err(fault(Code::Overloaded, detail));
        }
        Ok(())
    }

    fn weigh(&self, now: Timestamp, header: &Header, directory: &Directory) -> Move {
        match spoken(header) {
            None => Move::None,
            Some(Coordination::Claims(claims)) => self.weigh_claims(now, header, claims, directory),
            Some(Coordination::Resolve { blocker, grants }) => Move::Resolves {
                id: blocker.clone(),
                grants: *grants,
            },
            // Whoever corrects its own claim, or a human who corrects any.
            Some(Coordination::Correct { message }) => {
                let is_human = header.sender.kind() == Some("human");
                let ended = self.open.about(message);
                let ended = ended.filter(|(_, open)| is_human || open.loser == header.sender);
                Move::Corrects(ended.map(|(number, _)| number).collect())
            }
        }
    }

    fn weigh_claims(
        &self,
        now: Timestamp,
        header: &Header,
        claims: &[Claim],
        directory: &Directory,
    ) -> Move {
        let mut gains: Vec<Gain> = Vec::new();
        for claim in claims {
            let held = self.resources.get(&claim.resource);
            if held.is_some_and(|held| is_of(held, header)) {
                continue;
            }
            let is_free = match held {
                // Whoever claims it first says which version it is at.
                None => !claim.is_release,
                Some(held) => {
                    held.version == claim.base_version
                        && (!claim.is_release || (held.by == header.sender && !held.is_released))
                }
            };
            if !is_free {
                let has_word = directory.has_feature(&header.sender, CONFLICT_FEATURE);
                return Move::Lost(Box::new(Blocker::new(now, header, claim, held, has_word)));
            }
            if gains.iter().any(|gain| gain.resource == claim.resource) {
                continue;
            }
            gains.push(Gain {
                resource: claim.resource.clone(),
                version: match claim.is_release {
                    true => claim.base_version.clone(),
                    false => version::next(&claim.base_version),
                },
                is_release: claim.is_release,
            });
        }
        if gains.is_empty() {
            return Move::None;
        }
        Move::Won(gains)
    }

    /// Makes the move, and gives what the exchange has to say about it.
    pub(crate) fn perform(&mut self, now: Timestamp, header: &Header, step: Move) -> Vec<String> {
        match step {
            Move::None => {
                if header.sender.as_str() == SERVICE {
                    self.open.told(&header.id);
                }
                Vec::new()
            }
            Move::Won(gains) => self.win(now, header, &gains),
            Move::Lost(blocker) => {
                let words = speech::lost(&blocker);
                self.open.add(*blocker);
                words
            }
            Move::Resolves { id, grants } => self.resolve(now, header, &id, grants),
            Move::Corrects(numbers) => {
                let ended = numbers
                    .into_iter()
                    .filter_map(|number| self.open.close(number));
                let others = ended.filter(|open| !hears(header, &open.loser));
                others
                    .filter_map(|open| speech::ended(&open, &header.sender, None, now))
                    .collect()
            }
        }
    }

    fn win(&mut self, now: Timestamp, header: &Header, gains: &[Gain]) -> Vec<String> {
        let mut words: Vec<String> = speech::won(header, gains, now).into_iter().collect();
        for gain in gains {
            if gain.is_release {
                let waiting = self.open.of_resource(&gain.resource).take(TOLD_MAX);
                words.extend(waiting.filter_map(|open| speech::released(open, header, now)));
            } else {
                self.open.close_of(&gain.resource, &header.sender);
            }
            let held = Held {
                version: gain.version.clone(),
                by: header.sender.clone(),
                at: now,
                message: origin(header).into(),
                key: header.dedupe_key().into(),
                is_released: gain.is_release,
            };
            self.resources.insert(gain.resource.clone(), held);
        }
        words
    }

    fn resolve(&mut self, now: Timestamp, header: &Header, id: &str, grants: bool) -> Vec<String> {
        let Some(open) = self.open.take(id) else {
            return speech::no_such_blocker(header, id, now)
                .into_iter()
                .collect();
        };
        let granted = match self.resources.get_mut(&open.resource) {
            Some(held) if grants => {
                *held = Held {
                    version: version::next(&held.version),
                    by: open.loser.clone(),
                    at: now,
                    message: open.message.clone(),
                    key: open.key.clone(),
                    is_released: false,
                };
                Some(held.version.clone())
            }
            Some(_) | None => None,
        };
        let answer = speech::resolved(header, &open, granted.as_deref(), now);
        let told = speech::ended(&open, &header.sender, granted.as_deref(), now);
        answer.into_iter().chain(told).collect()
    }

    /// Rebuilds the state from a message that is a record.
    pub(crate) fn apply(&mut self, at: Timestamp, header: &Header, directory: &Directory) {
        let step = self.weigh(at, header, directory);
        self.may_owe_words |= step.is_lost();
        self.perform(at, header, step);
    }

    /// What was said of a claim, for a sender that sends it again: it may not have heard.
    pub(crate) fn say_again(&self, header: &Header) -> Vec<String> {
        let Some(Coordination::Claims(claims)) = spoken(header) else {
            return Vec::new();
        };
        if let Some(open) = self.open.by_id(&blocker::id_of(header)) {
            return speech::lost(open);
        }
        let mut at = None;
        let mut gains: Vec<Gain> = Vec::new();
        for claim in claims {
            match self.resources.get(&claim.resource) {
                Some(held) if is_of(held, header) => {
                    at = Some(held.at);
                    if gains.iter().all(|gain| gain.resource != claim.resource) {
                        gains.push(Gain {
                            resource: claim.resource.clone(),
                            version: held.version.clone(),
                            is_release: claim.is_release,
                        });
                    }
                }
                Some(_) | None => return Vec::new(),
            }
        }
        at.and_then(|at| speech::won(header, &gains, at))
            .into_iter()
            .collect()
    }

    /// Blockers that the journal does not have although their claims are in it: a crash came between.
    /// Each is given once.
    pub(crate) fn owed_words(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.may_owe_words) {
            return Vec::new();
        }
        self.open.untold().flat_map(speech::lost).collect()
    }

    /// Whether [`Self::owed_words`] has to be called; the moment is long past.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let mut owed = self.open.untold().map(|open| open.at);
        owed.next().filter(|_| self.may_owe_words)
    }

    /// How many conflicts nobody has resolved.
    pub(crate) fn open_count(&self) -> usize {
        self.open.count()
    }
}

/// What a message agrees. One that is played again has agreed it before.
fn spoken(header: &Header) -> Option<&Coordination> {
    let coordination = header.coordination.as_deref();
    coordination.filter(|_| header.replay_of.is_none())
}

/// Copies of one message, and one that is sent again under its key, are one claim (UAI 9.8 X3).
fn is_of(held: &Held, header: &Header) -> bool {
    held.by == header.sender
        && (*held.message == *origin(header) || *held.key == *header.dedupe_key())
}

fn origin(header: &Header) -> &str {
    header.origin.as_deref().unwrap_or(&header.id)
}

/// Whether a party hears of a message without being told.
fn hears(header: &Header, party: &Party) -> bool {
    header.sender == *party || header.recipients.contains(party)
}

fn fault(code: Code, detail: String) -> Fault {
    Fault::new(code, "/extensions", "UAI 9.8 X1", detail)
}
